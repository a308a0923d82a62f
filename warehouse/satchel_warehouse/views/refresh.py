"""Makes the sums behind the reports anew: as of one moment for each tenant."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import IsolationLevel

from satchel_crypto.network import Policy
from satchel_sync.progress import Progress, silent
from satchel_warehouse import tenants
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.login import Dsn
from satchel_warehouse.sessions import administered, as_owner, revision
from satchel_warehouse.views.catalog import SUMS, VIEW_OF


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A view of a tenant made anew: how many lines it has now, and how long it took.

    `task_flow` and `tasks_open` are made with `tasks`, and are not told by themselves.
    """

    tenant: str
    name: str
    rows: int
    ms: int


def refresh(
    admin_dsn: Dsn,
    *,
    tenant: str | None = None,
    progress: Progress = silent,
    policy: Policy = NAMED,
) -> list[Refreshed]:
    """Refresh all sums of a tenant, or of every one; no reader and no sync waits for it.

    Raises WarehouseUnreachable while another refresh runs, TenantUnknown.
    """
    with administered(admin_dsn, policy) as db:
        revision(db)
        if tenant is not None:
            tenants.require(db, tenant)
        named = [tenant] if tenant is not None else _every(db)
        return [one for name in named for one in _of_tenant(db, name, progress)]


def _every(db: Connection) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM satchel.tenant ORDER BY number")]


def _of_tenant(db: Connection, tenant: str, progress: Progress) -> list[Refreshed]:
    db.isolation_level = IsolationLevel.REPEATABLE_READ  # all of one moment
    with as_owner(db):
        db.execute("SELECT satchel.begin_refresh()")
        for done, name in enumerate(SUMS, start=1):
            db.execute("SELECT satchel.refresh_report(%s, %s)", (tenant, name))
            progress("refresh", tenant, done, len(SUMS))
        found = db.execute(
            "SELECT tenant, name, lines, took_ms FROM satchel.report_refresh"
            " WHERE tenant = %s AND name = ANY (%s)",
            (tenant, list(SUMS)),
        ).fetchall()
    made = {name: Refreshed(of, VIEW_OF[name], lines, ms) for of, name, lines, ms in found}
    return [made[name] for name in SUMS]
