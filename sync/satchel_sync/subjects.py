"""What a row is about: rows that go with a memory when that is forgotten."""

from __future__ import annotations

from satchel_sync.row import Row
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables.kinds import Table

SUBJECT_COLUMNS = {"embedding": ("memory_id",), "relationship": ("from_id", "to_id")}
"""Kind -> columns that hold the id of a memory which the row is about."""


def subjects(table: Table, row: Row) -> tuple[tuple[str, str], ...]:
    """(kind, key) of what a row is about: a history's row, an edge's ends, a vector's memory."""
    if table.name == "history":
        kind, key = (row.values[table.names.index(name)] for name in ("kind", "key"))
        return ((str(kind), str(key)),) if kind is not None and key is not None else ()
    columns = SUBJECT_COLUMNS.get(table.name, ())
    found = (row.values[table.names.index(column)] for column in columns)
    return tuple(("memory", str(key)) for key in found if key is not None)


def scrubbed(table: Table, key: str) -> Row:
    """The row of a key that was forgotten: the same on every machine, and final."""
    return Row(key, SCRUBBED, "", (None,) * (len(table.columns) + 1))
