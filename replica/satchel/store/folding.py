"""After a migration: what waited in `extra` for a column that this program has moves into it.

The content stays what it was, so there is no new version, no history and nothing to send.
"""

from __future__ import annotations

from typing import Any

import apsw

from satchel.store import lenient
from satchel_sync.tables import EXTRA, TABLES, Table
from satchel_sync.unknown import folded

ROWS_AT_ONCE = 1_000


def fold(db: apsw.Connection) -> None:
    """Fold every row of every kind; inside a write transaction, under this program's triggers."""
    db.execute("UPDATE control SET applying = 1")
    for table in TABLES:
        last = -1
        while rows := _waiting(db, table, last):
            for row in rows:
                _fold_row(db, table, row)
            last = rows[-1]
    db.execute("UPDATE control SET applying = 0")


def _waiting(db: apsw.Connection, table: Table, after: int) -> list[int]:
    """Row numbers of the next rows that have something in `extra`."""
    found = db.execute(
        f"SELECT row FROM {table.name} WHERE row > ? AND {EXTRA} IS NOT NULL"
        f" ORDER BY row LIMIT {ROWS_AT_ONCE}",
        (after,),
    )
    return [int(str(row)) for (row,) in found]


def _fold_row(db: apsw.Connection, table: Table, row: int) -> None:
    names = (*table.names, EXTRA)
    held: Any = tuple(lenient.read_columns(db, table, names, row))
    pairs = zip(names, held, folded(table, held), strict=True)
    changed = [(name, new) for name, old, new in pairs if new != old]
    if changed:
        settings = ", ".join(f"{name} = ?" for name, _ in changed)
        values = [value for _, value in changed]
        db.execute(f"UPDATE {table.name} SET {settings} WHERE row = ?", (*values, row))
