"""What a monitor asks of a warehouse every few seconds: cheap numbers, no scan of a large table."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations.health import Health, looked
from satchel_warehouse.sessions import administered, one, revision
from satchel_warehouse.tenants import MADE_UP

TIMEOUT_MS = 10_000
_ESTIMATED = """
SELECT coalesce(root.relname, c.relname), sum(c.reltuples)::bigint
FROM pg_class c LEFT JOIN pg_class root ON root.oid = pg_partition_root(c.oid)
WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind = 'r' AND c.reltuples >= 0
GROUP BY 1 ORDER BY 1
"""
_CHANGES = """
SELECT t.name, coalesce((SELECT max(b.value::bigint) FROM jsonb_each_text(satchel.bound(t.name)) b),
    0) FROM satchel.tenant t ORDER BY t.number
"""
_CONFLICTS = "SELECT tenant, count(*) FROM satchel.conflict GROUP BY 1 ORDER BY 1"
_REFUSED = "SELECT tenant, count(*) FROM satchel.audit_trouble GROUP BY 1 ORDER BY 1"
_MACHINES = """
SELECT l.tenant, encode(r.replica_id, 'hex'), r.host, r.revoked_at IS NOT NULL, r.must_reconcile,
    a.finished_at, CASE WHEN a.exit ~ '^[0-9]{1,3}$' THEN a.exit::integer END
FROM satchel.replica r JOIN satchel.login l ON l.role_name = r.login
LEFT JOIN LATERAL (
    SELECT n.finished_at, satchel.field(n.report, 'exit') AS exit FROM satchel.attempt n
    WHERE n.replica_id = r.replica_id AND n.finished_at IS NOT NULL
    ORDER BY n.started_at DESC LIMIT 1
) AS a ON true
WHERE NOT EXISTS (SELECT FROM satchel.replica s WHERE s.predecessors @> ARRAY[r.replica_id])
    AND NOT starts_with(l.tenant, %s)
ORDER BY r.first_seen, r.replica_id
"""
# A file that took a new id is shown under that alone; nobody mends a machine that is made up.


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSeen:
    """A machine: when its last sync ended (UTC ms) and with which exit code, if it has a report."""

    tenant: str
    replica_id: str
    host: str
    revoked: bool
    must_reconcile: bool
    synced_at: int | None
    exit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """`rows_estimated` by table as Postgres guesses; `changes`: tenant -> highest number drawn."""

    server: str
    revision: str
    health: Health
    rows_estimated: dict[str, int]
    frozen_age: int
    changes: dict[str, int]
    conflicts: dict[str, int]
    audit_refused: dict[str, int]
    machines: list[MachineSeen]


def measure(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Measures:
    """All of it, in one session. Raises WarehouseError's family."""
    with administered(admin_dsn, policy) as db:
        db.execute(f"SET statement_timeout = {TIMEOUT_MS}")
        held = revision(db)
        age = "SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()"
        return Measures(
            server=one(db, "SHOW server_version")[0],
            revision=held,
            health=looked(db),
            rows_estimated=_numbers(db, _ESTIMATED),
            frozen_age=one(db, age)[0],
            changes=_numbers(db, _CHANGES),
            conflicts=_numbers(db, _CONFLICTS),
            audit_refused=_numbers(db, _REFUSED),
            machines=[_machine(*row) for row in db.execute(_MACHINES.encode(), [MADE_UP])],
        )


def _numbers(db: Connection, query: str) -> dict[str, int]:
    return dict(db.execute(query.encode()).fetchall())


def _machine(
    tenant: str,
    replica_id: str,
    host: str,
    revoked: bool,
    must_reconcile: bool,
    synced_at: int | None,
    exit_code: int | None,
) -> MachineSeen:
    return MachineSeen(
        tenant=tenant,
        replica_id=replica_id,
        host=host,
        revoked=revoked,
        must_reconcile=must_reconcile,
        synced_at=synced_at,
        exit=exit_code,
    )
