"""What the reports read is made anew, composed from settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from satchel.warehouse.dsns import admin_dsn
from satchel_sync.progress import Progress, silent

if TYPE_CHECKING:
    from satchel.config import Settings


def refresh(
    settings: Settings, *, tenant: str | None = None, progress: Progress = silent
) -> list[dict[str, Any]]:
    """Refresh what is behind the views: [{tenant, name, rows, ms}].

    Raises ConfigInvalid without an administrator's DSN, SyncError's family.
    """
    dsn = admin_dsn(settings)
    from satchel_warehouse.views.refresh import refresh as make

    policy = settings.network_policy()
    return [asdict(one) for one in make(dsn, tenant=tenant, progress=progress, policy=policy)]
