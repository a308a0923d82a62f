"""Recall: the few memories that matter although nobody asked for them, or none.

For a prompt that is a search with a floor of its own; at the start of a session, where there is no
prompt yet, what is pinned and what is kept in the space of the project.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from satchel.memory import text
from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, select
from satchel.memory.search import search
from satchel.memory.search.filters import Filter
from satchel.memory.search.hits import Hit, as_hit
from satchel.memory.search.meaning import embedder_of
from satchel.memory.search.stopwords import STOP_WORDS
from satchel.ranking.weights import UNASKED_KEYWORDS, calibration
from satchel_sync.tables import Memory

if TYPE_CHECKING:
    from satchel.memory.search.ranked import Ranked
    from satchel.ranking.recipe import Unasked
    from satchel.replica import Replica

WORDS_ALL_LEAST = 3
"""A memory with every telling word of a prompt passes, if those are so many: in a store of a few
rows no word is rare. In one with many it changes nothing (docs/adr/0030)."""
PROMPT_CHARS_MAX = 1_000
"""Of a longer prompt its beginning and its end: there stands what is wanted; between is a paste.

So much a model with a window of 256 reads at once.
"""
_WORD = re.compile(r"\w+")
FACTS = ("phrase", "title", "id")
"""Parts of a score that are evidence beside meaning and words."""


def for_prompt(replica: Replica, prompt: str, k: int, without: Collection[str] = ()) -> list[Hit]:
    """Memories that this prompt is about, best first; `without` those that the model has already.

    Raises InvalidInput for NUL or a lone surrogate in it, and what `search` raises.
    """
    asked = text.optional_text(_ends(prompt.strip()), "prompt", PROMPT_CHARS_MAX + 1)
    if asked is None:
        return []
    embedder, _ = embedder_of(replica)
    model_id = embedder.model_id if embedder else None
    floor = _Floor(calibration(model_id).unasked, asked)
    request = search.Request(
        query=asked,
        k=k + len(without),
        kinds=("memory",),
        wanted=Filter.of(replica.now_ms()),
        conversation=None,
        max_tokens=None,
        explain=False,
        passes=floor.passes,
    )
    found = search.answered(replica, request).hits
    return [hit for hit in found if hit.id not in without][:k]


def at_start(
    replica: Replica, project: Sequence[str], k: int, without: Collection[str] = ()
) -> list[Hit]:
    """What is pinned, then what is the project's: the weightiest, then the newest.

    `project` has its names: what a space of it, or a title or an alias of a memory about it, may
    be. What is pinned in the space of something else is left out.
    """
    caller, now = replica.caller, replica.now_ms()
    where = f"""(t.space IN (SELECT value FROM json_each(:names))
                 OR (t.pinned = 1 AND t.space IS NULL)
                 OR lower(t.title) IN (SELECT value FROM json_each(:names))
                 OR (json_valid(t.aliases) AND EXISTS (
                       SELECT 1 FROM json_each(t.aliases) AS a
                       WHERE lower(a.value) IN (SELECT value FROM json_each(:names)))))
        AND t.id NOT IN (SELECT value FROM json_each(:without))
        AND t.type IS NOT 'working'
        AND {can_see(caller, "memory")} AND {answers("t")}"""
    params = {
        **caller.params,
        **Moment(now=now).params,
        "names": json.dumps(list(project)),
        "without": json.dumps(list(without)),
        "k": 2 * k,
    }
    order = """ORDER BY coalesce(t.pinned, 0) DESC, coalesce(t.importance, 0.5) DESC,
        t.recorded_at DESC, t.id LIMIT :k"""
    with replica.store.read() as db:
        found = select(db, Memory, where, params, order)
    # What was promoted is there twice, with one text.
    once = {row.content_hash or row.id: row for row in reversed(found)}
    return [as_hit(row, now) for row in found if once[row.content_hash or row.id] is row][:k]


class _Floor:
    """Whether a memory has enough to do with a prompt."""

    def __init__(self, embedded: Unasked, prompt: str) -> None:
        self._embedded, self._words = embedded, len(prompt.split())
        self._telling = len(set(_WORD.findall(prompt.casefold())) - STOP_WORDS)

    def passes(self, one: Ranked) -> bool:
        """The sum of its evidence, where words can only help so far; or every word of several."""
        if one.covers and self._telling >= WORDS_ALL_LEAST:
            return True
        parts = one.shown_parts
        floor = UNASKED_KEYWORDS if one.vector is None else self._embedded
        share = min(1.0, floor.words_full / max(1, self._words))
        keyword = min(parts.get("keyword", 0.0) * share, floor.keyword_most)
        meaning = parts.get("meaning", 0.0) + parts.get("alone", 0.0)
        return meaning + keyword + sum(parts.get(name, 0.0) for name in FACTS) >= floor.least


def _ends(prompt: str) -> str:
    if len(prompt) <= PROMPT_CHARS_MAX:
        return prompt
    half = PROMPT_CHARS_MAX // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"
