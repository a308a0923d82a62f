"""Rows that repeat the text of a memory, or name it as their result or context."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.memory.lookup import can_see
from satchel_sync.tables import BY_NAME

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller

QUOTED_CHARS_MIN = 12
"""A shorter text counts only where a column consists of it: it would be found in everything."""
TEXTS_AT_ONCE = 50
"""Wordings in one query: SQLite bounds the depth of an expression."""
TITLE_CHARS_MIN = 24
"""A shorter title is a word of many rows."""
QUOTING: Mapping[str, tuple[str, ...]] = {
    "memory": ("content", "title"),
    "task": ("title", "description", "result"),
    "message": ("title", "content"),
    "chatlog": ("content",),
    "session": ("title",),
}
"""Kind -> columns that may repeat a text."""
NAMING: Mapping[str, str] = {
    "task": "t.result_memory_id = :id",
    "message": "instr(coalesce(t.context_ids, ''), :id) > 0",
}
"""Kind -> test of whether a row names the memory `:id`."""


def quoting(db: Connection, caller: Caller, ids: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, key) of the rows of others that repeat or name these memories, each once.

    What a memory said before it was edited or deleted counts as well. Only rows that the caller may
    change. The texts are looked for from end to end: no index knows what contains them.
    """
    found: dict[tuple[str, str], None] = {}
    for memory_id in ids:
        texts = texts_of(db, memory_id)
        some = [texts[at : at + TEXTS_AT_ONCE] for at in range(0, len(texts), TEXTS_AT_ONCE)]
        for kind, part in itertools.product(QUOTING, some or [[]]):
            for key in _of_kind(db, caller, kind, memory_id, part):
                found[kind, key] = None
    own = {("memory", key) for key in ids}
    return [one for one in found if one not in own]


def texts_of(db: Connection, memory_id: str) -> list[str]:
    """Every wording that a memory has or had, without blanks around it; long titles too."""
    held = db.execute("SELECT content, title FROM memory WHERE id = ?", (memory_id,)).fetchone()
    wordings = [held or (None, None)]
    history = "SELECT changes FROM history WHERE kind = 'memory' AND key = ?"
    for (changes,) in db.execute(history, (memory_id,)):
        wordings += _wordings(changes)
    texts = [str(content).strip() for content, _ in wordings if isinstance(content, str)]
    titles = [title.strip() for _, title in wordings if isinstance(title, str)]
    long = [title for title in titles if len(title) >= TITLE_CHARS_MIN]
    return [text for text in dict.fromkeys([*texts, *long]) if text]


def _wordings(changes: object) -> list[tuple[Any, Any]]:
    """(content, title) before and after a change, as its history row has them."""
    try:
        told = json.loads(changes) if isinstance(changes, str) else {}
    except ValueError:
        return []
    pairs = [told.get(name) if isinstance(told, dict) else None for name in ("content", "title")]
    sides = [pair if isinstance(pair, list) and len(pair) == 2 else (None, None) for pair in pairs]
    return list(zip(*sides, strict=True))


def _of_kind(
    db: Connection, caller: Caller, kind: str, memory_id: str, texts: Sequence[str]
) -> Iterator[str]:
    tests = [NAMING[kind]] if kind in NAMING else []
    given: dict[str, Any] = {}
    for number, text in enumerate(texts):
        name = f"text_{number}"
        given[name] = text
        repeats = (
            "instr(t.{0}, :{1}) > 0" if len(text) >= QUOTED_CHARS_MIN else "trim(t.{0}) = :{1}"
        )
        tests += [repeats.format(column, name) for column in QUOTING[kind]]
    if not tests:
        return
    key, visible = BY_NAME[kind].key, can_see(caller, kind, access="write")
    rows = db.execute(
        f"SELECT t.{key} FROM {kind} AS t WHERE ({' OR '.join(tests)}) AND {visible}",
        {**caller.params, "id": memory_id, **given},
    )
    yield from (str(one) for (one,) in rows.fetchall())
