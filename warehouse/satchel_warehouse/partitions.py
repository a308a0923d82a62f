"""Hash partitions of the tables that grow: chosen when a warehouse is made, and kept for good.

A table that is there cannot become a partitioned one without losing the views that others built on
it; docs/DISTRIBUTED.md tells how rows move to a new warehouse that has partitions.
"""

from __future__ import annotations

from satchel_warehouse.database import Connection
from satchel_warehouse.errors import WarehouseRefused

PARTITIONED = ("memory", "relationship", "chatlog", "history", "embedding")
"""Kinds that have as many rows as there was work; all of them have the key `id`."""
BY_HASH = "PARTITION BY HASH (id)"
PARTITIONS_MAX = 64
"""More cost each call more than they give: docs/DISTRIBUTED.md."""

_FOUND = """
SELECT to_regclass('satchel.alembic_version') IS NULL, count(*)
FROM pg_inherits WHERE inhparent = to_regclass('satchel.memory')
"""


def declared(tables: str, clause: str) -> str:
    """SQL that makes the first tables, with `clause` behind the columns of those that grow."""
    for kind in PARTITIONED:
        end = f"CONSTRAINT {kind}_pkey PRIMARY KEY (tenant, id)\n)"
        if tables.count(end) != 1:
            raise ValueError(f"the SQL does not make the table {kind} with its key once")
        tables = tables.replace(end, f"{end} {clause}")
    return tables


def require(db: Connection, parts: int) -> None:
    """Raises WarehouseRefused when the warehouse is there already and has not just these parts."""
    if not 0 <= parts <= PARTITIONS_MAX or parts == 1:
        raise WarehouseRefused(
            f"a table cannot have {parts} partitions", hint=f"2 to {PARTITIONS_MAX}, or none"
        )
    is_new, found = db.execute(_FOUND).fetchall()[0]
    if parts and not is_new and parts != found:
        has = f"{found} partitions a table" if found else "tables without partitions"
        raise WarehouseRefused(
            f"this warehouse has {has}, and keeps them",
            hint="make a new one with --partitions and move the rows there: docs/DISTRIBUTED.md",
        )


def make(db: Connection, parts: int) -> None:
    """The partitions of a new warehouse; those that are there are guarded anew. As the owner."""
    if parts:
        db.execute("SELECT satchel.make_partitions(%s)", (parts,))
    db.execute("SELECT satchel.guard_partitions()")
