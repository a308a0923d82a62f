"""How a warehouse fares, and what keeps it well, composed from settings."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded
from satchel.warehouse.dsns import admin_dsn, is_named, need_warehouse
from satchel.warehouse.told import health_told, status_told, times_told

if TYPE_CHECKING:
    from satchel.config import Settings

DAYS = ("journal_days", "reports_days", "audit_days")


def status(settings: Settings) -> dict[str, Any]:
    """The warehouse's version, rows by kind and machines; its size, sessions, standbys, backups.

    `retention` is the days of the settings, `retained` when it was last pruned by them.
    """
    dsn, policy = admin_dsn(settings), settings.network_policy()
    from satchel_warehouse import admin
    from satchel_warehouse.operations import health

    told = status_told(admin.status(dsn, policy=policy))
    kept = {name: getattr(settings, f"warehouse_retain_{name}") for name in DAYS}
    return told | health_told(health.look(dsn, policy=policy)) | {"retention": kept}


def doctor(settings: Settings) -> dict[str, Any]:
    """{ok, checks}: every check of the warehouse, each with what was found, why and how to mend.

    Raises SyncError's family where it cannot be reached, or holds no hub.
    """
    dsn = admin_dsn(settings)
    from satchel_warehouse.operations import doctoring

    checks = doctoring.examine(dsn, policy=settings.network_policy())
    failed = any(check.ok == "fail" for check in checks)
    return {"ok": not failed, "checks": [asdict(check) for check in checks]}


def retain(
    settings: Settings, given: dict[str, int | None], *, dry_run: bool, confirm: bool
) -> dict[str, Any]:
    """Prune journal, reports and audit by the settings' days, or those `given`.

    Raises ConfirmationNeeded without `dry_run` and `confirm`.
    """
    dsn = admin_dsn(settings)
    if not dry_run and not confirm:
        raise ConfirmationNeeded(
            "what is older would be gone for good, and this was not confirmed",
            hint="look with --dry-run, then give --yes",
            field="confirm",
        )
    from satchel_warehouse.operations.retaining import Retention
    from satchel_warehouse.operations.retaining import retain as prune

    days = Retention(
        journal_days=settings.warehouse_retain_journal_days,
        reports_days=settings.warehouse_retain_reports_days,
        audit_days=settings.warehouse_retain_audit_days,
    )
    days = replace(days, **{name: value for name, value in given.items() if value is not None})
    done = prune(dsn, days, dry_run=dry_run, policy=settings.network_policy())
    return asdict(days) | asdict(done)


def backups(settings: Settings, *, days: int) -> dict[str, Any]:
    """What the warehouse knows of its backups; `ok` is whether one reaches into the last `days`."""
    dsn = admin_dsn(settings)
    from satchel_warehouse.operations.backups import known

    found = asdict(known(dsn, days=days, policy=settings.network_policy()))
    recent = found.pop("recent")
    return {"ok": recent, "days": days, **times_told(found)}


def check_dump(settings: Settings, dump: Path, folder: Path | None) -> dict[str, Any]:
    """Restore a dump beside and read it whole; with an administrator's DSN hold it against that.

    Raises DumpInvalid, and SyncError's family.
    """
    settings.require_built()
    need_warehouse()
    dsn = admin_dsn(settings) if is_named(settings, "admin_dsn") else None
    from satchel_warehouse.operations.backups import check

    found = check(dump, dsn, folder=folder, policy=settings.network_policy())
    return {"ok": found.sound, **times_told(asdict(found))}


def mark_restored(settings: Settings, *, confirm: bool) -> dict[str, Any]:
    """Put right what a restore leaves wrong, and begin a new epoch in every tenant.

    Raises ConfirmationNeeded.
    """
    dsn = admin_dsn(settings)
    if not confirm:
        raise ConfirmationNeeded(
            "every machine would compare all its rows with the next sync, and this was not"
            " confirmed",
            hint="give --yes, once after a restore",
            field="confirm",
        )
    from satchel_warehouse.operations.restored import mark

    return dict(times_told(asdict(mark(dsn, policy=settings.network_policy()))))
