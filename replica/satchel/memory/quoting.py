"""Rows that repeat the text of a memory, or name it as their result or context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.memory.lookup import can_see
from satchel_sync.tables import BY_NAME

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller

QUOTED_CHARS_MIN = 12
"""A shorter text counts only where a column consists of it: it would be found in everything."""
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

    Only those that the caller may change. The texts are looked for from end to end: no index knows
    what contains them.
    """
    found: dict[tuple[str, str], None] = {}
    for memory_id in ids:
        row = db.execute("SELECT content FROM memory WHERE id = ?", (memory_id,)).fetchone()
        content = row[0] if row and isinstance(row[0], str) else ""
        for kind in QUOTING:
            for key in _of_kind(db, caller, kind, memory_id, content):
                found[kind, key] = None
    return [one for one in found if one not in {("memory", key) for key in ids}]


def _of_kind(
    db: Connection, caller: Caller, kind: str, memory_id: str, content: str
) -> Iterator[str]:
    tests = [NAMING[kind]] if kind in NAMING else []
    if content.strip():
        contains = (
            "instr(t.{0}, :text) > 0" if len(content) >= QUOTED_CHARS_MIN else "t.{0} = :text"
        )
        tests += [contains.format(column) for column in QUOTING[kind]]
    if not tests:
        return
    key, visible = BY_NAME[kind].key, can_see(caller, kind, access="write")
    rows = db.execute(
        f"SELECT t.{key} FROM {kind} AS t WHERE ({' OR '.join(tests)}) AND {visible}",
        {**caller.params, "id": memory_id, "text": content.strip()},
    )
    yield from (str(one) for (one,) in rows.fetchall())
