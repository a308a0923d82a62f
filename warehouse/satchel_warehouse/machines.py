"""The machines that a warehouse knows, by replica id, and how the doors are closed to one."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables import TABLES
from satchel_warehouse.database import Connection


@dataclass(frozen=True, slots=True)
class Machine:
    """A replica as the hub knows it, with the rows whose newest version it pushed.

    Ids are 32 hex digits, times UTC ms; `predecessors` are earlier ids of its file, newest first.
    """

    replica_id: str
    tenant: str
    login: str
    host: str
    version: str
    first_seen: int
    last_seen: int
    revoked_at: int | None
    must_reconcile: bool
    predecessors: list[str]
    rows: int


def listed(db: Connection) -> list[Machine]:
    """All of them, in the order in which they came."""
    pushed = " UNION ALL ".join(
        f"SELECT pushed_by, count(*) AS rows FROM satchel.{table.name} GROUP BY pushed_by"
        for table in TABLES
    )
    query = (
        "SELECT encode(r.replica_id, 'hex'), r.tenant, r.login, r.host, r.version, r.first_seen,"
        " r.last_seen, r.revoked_at, r.must_reconcile,"
        " ARRAY(SELECT encode(p, 'hex') FROM unnest(r.predecessors) WITH ORDINALITY AS u (p, place)"
        " ORDER BY place), coalesce(p.rows, 0)::bigint FROM satchel.replica r"
        f" LEFT JOIN (SELECT pushed_by, sum(rows) AS rows FROM ({pushed}) AS a GROUP BY pushed_by)"
        " AS p ON p.pushed_by = r.replica_id ORDER BY r.first_seen, r.replica_id"
    )
    return [Machine(*row) for row in db.execute(query.encode()).fetchall()]


def revoke(db: Connection, replica_id: bytes) -> list[str]:
    """Close the doors to a replica, and to all that name it as an earlier id of their file.

    From their next call on. Returns the ids that are shut out now; none for an unknown id.
    """
    return _ids(db, "SELECT encode(id, 'hex') FROM satchel.revoke(%s) AS r (id)", replica_id)


def take_back(db: Connection, replica_id: bytes) -> list[str]:
    """Open them again to a replica and to those that were shut out with it; returns their ids.

    They have to reconcile first, as they missed what happened.
    """
    return _ids(db, "SELECT encode(id, 'hex') FROM satchel.take_back(%s) AS r (id)", replica_id)


def _ids(db: Connection, query: str, replica_id: bytes) -> list[str]:
    return sorted(str(found) for (found,) in db.execute(query.encode(), (replica_id,)))
