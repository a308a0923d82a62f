"""Fill a tenant with a made-up organisation: start reading here."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

from psycopg import sql

from satchel_crypto.network import Policy
from satchel_sync.progress import Progress, silent
from satchel_sync.tables import TABLES
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.functions import OWNER
from satchel_warehouse.login import Dsn
from satchel_warehouse.seeding import records
from satchel_warehouse.seeding.cast import Cast
from satchel_warehouse.seeding.loading import Loading
from satchel_warehouse.seeding.story import Story
from satchel_warehouse.sessions import administered, as_owner, one, revision
from satchel_warehouse.tenants import MADE_UP

_TENANT = re.compile(f"{MADE_UP}[a-z0-9-]{{0,40}}")
ROWS_MIN, ROWS_MAX = 100, 100_000_000
MACHINES, MACHINES_MAX = 20, 1_000
ROWS_A_MACHINE_MIN = 20
REPORT_EVERY = 500
UNTIL_MS_MIN = 946_684_800_000
DELIVERED = """
UPDATE satchel.replica SET delivered = (
    SELECT jsonb_object_agg(b.key, floor(b.value::numeric * %s)::bigint)
    FROM jsonb_each_text(satchel.bound(%s)) AS b)
WHERE replica_id = %s
"""

_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'satchel'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What was made. `rows` is kind -> rows; `until_ms` (UTC ms) with `seed` makes the same again.

    `attempts`, `conflicts` and `audit_records` come beside the rows.
    """

    tenant: str
    seed: int
    until_ms: int
    machines: int
    rows: dict[str, int]
    attempts: int
    conflicts: int
    audit_records: int
    seconds: float = 0.0


def seed(
    admin_dsn: Dsn,
    *,
    rows: int,
    machines: int | None = None,
    tenant: str = MADE_UP,
    number: int = 1,
    until_ms: int | None = None,
    progress: Progress = silent,
    policy: Policy = NAMED,
) -> Seeded:
    """Make `rows` synced rows of a made-up organisation, in one transaction: all or nothing.

    Its life of half a year ends at `until_ms` (default: now); it has 20 machines unless told
    otherwise, or too small for them. Raises WarehouseRefused for a tenant that is not named as a
    seeded one or holds anything, and for numbers out of range; WarehouseError's family.
    """
    machines = min(MACHINES, rows // ROWS_A_MACHINE_MIN) if machines is None else machines
    _check(rows, machines, tenant)
    began = time.monotonic()
    with administered(admin_dsn, policy) as db:
        revision(db)
        made = _made(db, rows, machines, tenant, number, until_ms, progress)
        _settle(db)
    return replace(made, seconds=round(time.monotonic() - began, 1))


def _made(
    db: Connection,
    rows: int,
    machines: int,
    tenant: str,
    number: int,
    until_ms: int | None,
    progress: Progress,
) -> Seeded:
    with as_owner(db):
        _make_tenant(db, tenant)
        end = _end(db, until_ms)
        cast = Cast(tenant, number, machines, end)
        loading, story = Loading(db, cast), Story(cast, rows)
        loading.records("login", "role_name tenant granted_at", records.logins(cast))
        machine = "tenant replica_id login host version first_seen last_seen revoked_at"
        loading.records("replica", machine, records.machines(cast))
        for done, made in enumerate(story.told(), start=1):
            loading.add(made)
            if done % REPORT_EVERY == 0 or done == rows:
                progress("seed", "rows", done, rows)
        loading.end()
        _deliver(db, cast)
        counts = _beside(loading, cast, story, rows)
    return Seeded(
        tenant=tenant, seed=number, until_ms=end, machines=machines, rows=dict(loading.counts),
        **counts,
    )  # fmt: skip


def _end(db: Connection, until_ms: int | None) -> int:
    """When it ends: no later than now, as versions of tomorrow would win over those of today."""
    now = int(one(db, "SELECT satchel.now_ms()")[0])
    if until_ms is not None and not UNTIL_MS_MIN <= until_ms <= now:
        raise WarehouseRefused(
            "a made-up past ends in the past", hint="--until from 2000-01-01 to now, by its clock"
        )
    return now if until_ms is None else until_ms


def _deliver(db: Connection, cast: Cast) -> None:
    """The machines hold all of it, but for the one that is late."""
    for at, replica_id in enumerate(cast.replica_ids):
        part = 0.9 if records.is_late(cast, at) else 1
        db.execute(DELIVERED, (part, cast.tenant, replica_id))


def _beside(loading: Loading, cast: Cast, story: Story, rows: int) -> dict[str, int]:
    """What the hub knows beside the rows."""
    journal = "tenant kind key version lineage content winner path at replica_id"
    chain = "tenant replica_id chain seq at body link mac received_at"
    conflicts = {one[:3]: one for one in records.conflicts(cast, rows, story)}
    return {
        "attempts": loading.records(
            "attempt",
            "tenant attempt replica_id started_at finished_at report",
            records.attempts(cast, rows),
        ),
        "conflicts": loading.records(
            "conflict", journal, ((cast.tenant, *one) for one in conflicts.values())
        ),
        "audit_records": loading.records(
            "audit", chain, ((cast.tenant, *one) for one in records.audits(cast, rows, story.known))
        ),
    }


def _check(rows: int, machines: int, tenant: str) -> None:
    if not ROWS_MIN <= rows <= ROWS_MAX:
        raise WarehouseRefused(
            f"{rows} rows cannot be made", hint=f"from {ROWS_MIN} to {ROWS_MAX:,}"
        )
    machines_max = min(rows // ROWS_A_MACHINE_MIN, MACHINES_MAX)
    if not 1 <= machines <= machines_max:
        raise WarehouseRefused(
            f"{machines} machines cannot be made", hint=f"of {rows} rows from 1 to {machines_max}"
        )
    if not _TENANT.fullmatch(tenant):
        raise WarehouseRefused(
            f"the tenant {tenant[:80]!r} could be taken for a real one",
            hint=f"a made-up one is called {MADE_UP!r}, with letters, digits and hyphens behind",
        )


def _make_tenant(db: Connection, tenant: str) -> None:
    """The tenant, locked until the end. Raises WarehouseRefused where it holds anything."""
    db.execute("SELECT satchel.add_tenant(%s)", (tenant,))
    db.execute("SELECT satchel.lock_tenant(%s)", (tenant,))
    for name in ("login", *(table.name for table in TABLES)):
        query = sql.SQL("SELECT 1 FROM {} WHERE tenant = %s LIMIT 1")
        if db.execute(query.format(sql.Identifier("satchel", name)), (tenant,)).fetchone():
            raise WarehouseRefused(
                f"the tenant {tenant!r} is in use: it has rows of satchel.{name}",
                hint=f"choose another: --tenant {MADE_UP}-2",
            )


def _settle(db: Connection) -> None:
    """What autovacuum would do within minutes: statistics, and pages known to be visible to all."""
    db.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(OWNER)))
    try:
        for (name,) in db.execute(_TABLES).fetchall():
            db.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier("satchel", name)))
    finally:
        db.execute("RESET ROLE")
