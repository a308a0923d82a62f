"""What a row is about: rows that go with a memory when that is forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NoReturn

from satchel_sync.row import Row
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables.kinds import Table

SUBJECT_COLUMNS = {"embedding": ("memory_id",), "relationship": ("from_id", "to_id")}
"""Kind -> columns that hold the id of a memory which the row is about."""


def subjects(table: Table, row: Row) -> tuple[tuple[str, str], ...]:
    """(kind, key) of what a row is about: a history's row, an edge's ends, a vector's memory.

    History of an edge is about its ends too: the edge may be deleted, and says them no more.
    """
    if table.name == "history":
        kind, key, changes = (row.values[table.names.index(n)] for n in ("kind", "key", "changes"))
        own = [(str(kind), str(key))] if kind is not None and key is not None else []
        ends = [("memory", memory_id) for memory_id in memories_in(kind, changes)]
        return tuple(dict.fromkeys(own + ends))
    columns = SUBJECT_COLUMNS.get(table.name, ())
    found = (row.values[table.names.index(column)] for column in columns)
    return tuple(("memory", str(key)) for key in found if key is not None)


def memories_in(kind: object, changes: object) -> Iterator[str]:
    """Ids of memories that a history's `changes` ({column: [old, new]} as JSON text) name."""
    columns = SUBJECT_COLUMNS.get(kind, ()) if isinstance(kind, str) else ()
    if not columns or not isinstance(changes, str):
        return
    try:
        fields = json.loads(changes, parse_constant=_no_json)
    except (ValueError, RecursionError):  # anybody may have written it: then it names nothing
        return
    for column in columns if isinstance(fields, dict) else ():
        pair = fields.get(column)
        yield from (v for v in (pair[:2] if isinstance(pair, list) else ()) if isinstance(v, str))


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def scrubbed(table: Table, key: str) -> Row:
    """The row of a key that was forgotten: the same on every machine, and final."""
    return Row(key, SCRUBBED, "", (None,) * (len(table.columns) + 1))
