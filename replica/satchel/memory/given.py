"""The recall loop: a text that a caller was just given is not stored again as new knowledge.

Guarded are memories that search, get and recall gave this caller within a day and that hold now,
where the new row would have no reader that the old one has not. A chat turn is guarded by nothing:
to make a memory of one is its promotion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.errors import InvalidInput
from satchel.memory.audit import given_to
from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, select
from satchel.memory.shared_words import folded, long_words, most_are_in
from satchel.memory.text import same_layout
from satchel.store.activity import RECALL_KEPT_MS
from satchel.store.sql import alive
from satchel_sync.tables import Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

COMPARED_MAX = 200
"""The newest memories that a text is compared with word by word; the same text is always found."""
QUOTED_WORDS_MIN = 5
"""A shorter piece between dots may come from anywhere."""
QUOTED_FROM_CHARS_MAX = 100_000
RECALL_MARK = "<satchel-recall>"
_LEFT_OUT = (
    "what stood between <satchel-recall> marks was left out: recall gave it, it is not stored again"
)
_LIST_MARK = re.compile(r"^\s*[-*•]\s+")
"""Not a number: an order of things that are known is news."""
_CUT_BEFORE = re.compile(r"^\s*(?:…|\.{3})")
_CUT_BEHIND = re.compile(r"(?:…|\.{3})\s*$")
_DENYING = frozenset({"not", "never", "no", "without", "nor", "neither"})


def without_recall(replica: Replica, text: str) -> tuple[str, list[str]]:
    """The text without the blocks that recall gave this caller, and what to tell the writer.

    An agent that saves its whole context would store all that it knows a second time. A block of
    which anything was not given to this caller is text like any other. Raises InvalidInput for no
    rest.
    """
    if RECALL_MARK not in text:
        return text, []
    from satchel.hooks.block import ids_in, without_blocks

    given = to_caller(replica)

    def was_given(body: str) -> bool:
        ends = ids_in(body)
        others = [end for end in ends if not any(one.endswith(end) for one in given)]
        return bool(ends) and all(_is_gone(replica, end) for end in others)

    rest = without_blocks(text, was_given)
    if rest == text:
        return text, []
    if not rest.strip():
        raise InvalidInput(
            "`text` is what recall gave: it is stored already",
            hint="write what is new, or correct a memory with `memory update` or `supersede`",
            field="text",
        )
    return rest, [_LEFT_OUT]


def _is_gone(replica: Replica, end: str) -> bool:
    """Whether a memory whose id ends so was deleted: who was given it is forgotten with it."""
    sql = f"SELECT 1 FROM memory WHERE substr(id, -length(?1)) = ?1 AND NOT ({alive()}) LIMIT 1"
    with replica.store.read() as db:
        return bool(db.execute(sql, (end,)).get)


def to_caller(replica: Replica) -> frozenset[str]:
    """Ids of what this caller was given within a day; no file is made for the question."""
    replica.activity.wait()  # for the trace of a search that has just answered
    if not replica.activity.path.exists():
        return frozenset()
    since = replica.now_ms() - RECALL_KEPT_MS
    return replica.activity.given_since(given_to(replica.caller), since)


def echoed(db: Connection, replica: Replica, draft: Memory, ids: frozenset[str]) -> Memory | None:
    """The memory among those given that `draft` only repeats: the same text first."""
    if not ids:
        return None
    where = f"""t.id IN (SELECT value FROM json_each(:ids)) AND {answers("t")}
        AND {can_see(replica.caller, "memory")}"""
    params = {
        **replica.caller.params,
        **Moment(now=replica.now_ms()).params,
        "ids": json.dumps(sorted(ids)),
        "hash": draft.content_hash,
    }
    order = f"ORDER BY t.content_hash IS :hash DESC, t.id DESC LIMIT {COMPARED_MAX}"
    held = [one for one in select(db, Memory, where, params, order) if reaches(one, draft)]
    return repeated(draft.content or "", held, draft.content_hash)


def reaches(held: Memory, draft: Memory) -> bool:
    """Whether everybody who could read the draft reads what is held; a writer always does."""
    if held.local and not draft.local:
        return False
    if draft.scope == "agent" or held.scope == "org":
        return True
    key = {"session": "session_id", "space": "space", "user": "user_id"}.get(draft.scope or "")
    same = key is not None and getattr(held, key) == getattr(draft, key)
    return held.scope == draft.scope and same


def repeated(text: str, held: Sequence[Memory], text_hash: str | None = None) -> Memory | None:
    """The memory that a text repeats: as a whole, as a cut piece, or as a list of such.

    Punctuation, fillers and list marks make no other text; one word does.
    """
    sources = [(one, folded(one.content or "")) for one in held]

    def source(piece: str) -> Memory | None:
        piece = _LIST_MARK.sub("", piece)
        words = long_words(piece)
        near = (one for one, text in sources if most_are_in(words, text))
        return next((one for one in near if _repeats(piece, one.content or "")), None)

    same = next((one for one in held if one.content_hash == text_hash), None)
    if same is not None:
        return same if same_layout(text, same.content or "") else None
    same = source(text)
    lines = [line for line in text.splitlines() if line.strip()]
    if same is not None or len(lines) < 2:
        return same
    found = [source(line) for line in lines]
    return found[0] if all(found) else None


def _repeats(text: str, whole: str) -> bool:
    from satchel.memory.difference import same_words  # most writes follow no search

    if _CUT_BEFORE.search(text) or _CUT_BEHIND.search(text):
        return _is_piece(text, whole)
    return 2 * len(text) > len(whole) > len(text) / 2 and same_words(text, whole)


def _is_piece(text: str, whole: str) -> bool:
    """Whether a cut text stands in another, at the end that is not cut, and nothing denies it."""
    from satchel.memory.difference import tokens

    before, behind = _CUT_BEFORE.search(text), _CUT_BEHIND.search(text)
    bare = _CUT_BEHIND.sub("", _CUT_BEFORE.sub("", text))
    if len(bare) > len(whole) or len(whole) > QUOTED_FROM_CHARS_MAX:
        return False
    piece, words = ([one.key for one in tokens(said)] for said in (bare, whole))
    size, last = len(piece), len(words) - len(piece)
    if size < QUOTED_WORDS_MIN:
        return False
    places = range(last + 1) if before and behind else (last,) if before else (0,)
    return any(
        words[n : n + size] == piece and not _DENYING & set(words[:n]) for n in places if n >= 0
    )
