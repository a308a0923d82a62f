"""A large warehouse made of invented rows, composed from settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from satchel.memory.moments import iso
from satchel.warehouse.dsns import admin_dsn
from satchel_sync.progress import Progress, silent

if TYPE_CHECKING:
    from satchel.config import Settings


def seed(
    settings: Settings,
    *,
    rows: int,
    machines: int | None,
    tenant: str,
    number: int,
    until_ms: int | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Fill a tenant of its own with a made-up organisation whose life ends at `until_ms`.

    Raises ConfigInvalid without an administrator's DSN, SyncError's family for a
    tenant that is in use.
    """
    dsn = admin_dsn(settings)
    from satchel_warehouse.seeding.seed import seed as make

    policy = settings.network_policy()
    made = make(
        dsn, rows=rows, machines=machines, tenant=tenant, number=number, until_ms=until_ms,
        progress=progress, policy=policy,
    )  # fmt: skip
    told = asdict(made)
    del told["until_ms"]
    return told | {"until": iso(made.until_ms)}
