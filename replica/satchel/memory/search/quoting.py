"""Rows that repeat the text of a memory, or name it as their result or context."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.memory.deleted import old_columns, saw
from satchel.memory.edges import DERIVED_FROM, PROMOTED_FROM
from satchel.memory.lookup import can_see
from satchel.store.sql import alive
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
    "memory": f"""EXISTS (SELECT 1 FROM relationship AS r WHERE r.to_id = :id AND r.from_id = t.id
        AND r.type IN ('{DERIVED_FROM}', '{PROMOTED_FROM}') AND {alive("r")})""",
    "task": "t.result_memory_id = :id",
    "message": "instr(coalesce(t.context_ids, ''), :id) > 0",
}
"""Kind -> test of whether a row names the memory `:id`: a summary and a version by their links."""


def quoting(db: Connection, caller: Caller, ids: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, key) of the rows of others that repeat or name these memories, each once.

    What names one of those is followed to the end: a version of a summary has a part of the text.
    What a memory said before it was edited or deleted counts as well. Only rows that the caller may
    change. The texts are looked for from end to end: no index knows what contains them.
    """
    found: dict[tuple[str, str], None] = {}
    texts = {memory_id: texts_of(db, memory_id) for memory_id in ids}
    waiting, reached = deque(ids), set(ids)
    while waiting:
        memory_id = waiting.popleft()
        for kind, key, named, mine in _about(db, caller, memory_id, texts.get(memory_id, [])):
            if mine:
                found[kind, key] = None
            if kind == "memory" and key not in reached:
                reached.add(key)
                waiting.append(key)
                # Whoever repeats what repeats a text has that text, and was found by it.
                texts[key] = texts_of(db, key, titles=False) if named and mine else []
    return [one for one in found if one not in {("memory", key) for key in ids}]


def _about(
    db: Connection, caller: Caller, memory_id: str, texts: Sequence[str]
) -> Iterator[tuple[str, str, bool, bool]]:
    """(kind, key, whether it names the memory, whether the caller may change it) of rows."""
    some = [texts[at : at + TEXTS_AT_ONCE] for at in range(0, len(texts), TEXTS_AT_ONCE)]
    for kind in QUOTING:
        named = dict(_naming(db, caller, kind, memory_id)) if kind in NAMING else {}
        repeats = dict.fromkeys(key for part in some for key in _of_kind(db, caller, kind, part))
        yield from ((kind, key, True, mine) for key, mine in named.items())
        yield from ((kind, key, False, True) for key in repeats if key not in named)


def texts_of(db: Connection, memory_id: str, *, titles: bool = True) -> list[str]:
    """Every wording that a memory has or had, without blanks around it; long titles too."""
    held = db.execute("SELECT content, title FROM memory WHERE id = ?", (memory_id,)).fetchone()
    wordings = [held or (None, None)]
    history = "SELECT changes FROM history WHERE kind = 'memory' AND key = ?"
    for (changes,) in db.execute(history, (memory_id,)):
        wordings += _wordings(changes)
    texts = [str(content).strip() for content, _ in wordings if isinstance(content, str)]
    named = [title.strip() for _, title in wordings if titles and isinstance(title, str)]
    long = [title for title in named if len(title) >= TITLE_CHARS_MIN]
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


def _naming(
    db: Connection, caller: Caller, kind: str, memory_id: str
) -> Iterator[tuple[str, bool]]:
    """(key, whether the caller may change it) of the rows that name a memory, deleted ones too.

    One that is hidden is passed on the way to its own versions, and never told of.
    """
    key, visible = BY_NAME[kind].key, can_see(caller, kind, access="write")
    rows: Any = db.execute(
        f"SELECT t.{key}, {alive('t')}, {visible} FROM {kind} AS t WHERE {NAMING[kind]}",
        {**caller.params, "id": memory_id},
    )
    for one, living, mine in rows.fetchall():
        old = None if living else old_columns(db, kind, one)
        was_mine = old is not None and saw(db, caller, kind, one, old, "write")
        yield one, bool(mine) or was_mine


def _of_kind(db: Connection, caller: Caller, kind: str, texts: Sequence[str]) -> Iterator[str]:
    """Keys of the rows that the caller may change and that hold one of these texts."""
    tests: list[str] = []
    given: dict[str, Any] = {}
    for number, text in enumerate(texts):
        name = f"text_{number}"
        given[name] = text
        repeats = (
            "instr(t.{0}, :{1}) > 0" if len(text) >= QUOTED_CHARS_MIN else "trim(t.{0}) = :{1}"
        )
        tests += [repeats.format(column, name) for column in QUOTING[kind]]
    key, visible = BY_NAME[kind].key, can_see(caller, kind, access="write")
    rows = db.execute(
        f"SELECT t.{key} FROM {kind} AS t WHERE ({' OR '.join(tests)}) AND {visible}",
        {**caller.params, **given},
    )
    yield from (str(one) for (one,) in rows.fetchall())
