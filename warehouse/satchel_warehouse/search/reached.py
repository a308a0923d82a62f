"""How far the indexes of search got: up to which change of a source."""

from __future__ import annotations

from satchel_warehouse.database import Connection

_UPTO = "SELECT upto FROM satchel.search_reached WHERE tenant = %s AND source = %s"
_SET = """
    INSERT INTO satchel.search_reached VALUES (%s, %s, %s, satchel.now_ms())
    ON CONFLICT (tenant, source)
        DO UPDATE SET upto = excluded.upto, indexed_at = excluded.indexed_at"""


def reached(db: Connection, tenant: str, source: str) -> int:
    """The last change that was indexed; 0 before the first."""
    found = db.execute(_UPTO, (tenant, source)).fetchone()
    return int(found[0]) if found else 0


def set_reached(db: Connection, tenant: str, source: str, upto: int) -> None:
    """Keep it, in the transaction that indexed the changes."""
    db.execute(_SET, (tenant, source, upto))
