"""Which DSN of the warehouse goes with which work, checked before any import or socket."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from satchel.errors import ConfigInvalid, EngineUnavailable
from satchel.extras import from_wheels
from satchel.secret_store import PASSWORDS, has_secret, secret_of

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.network import Target
    from satchel_warehouse.login import Dsn


def target_of(dsn: str) -> Target:
    """Where a DSN leads; nothing is opened.

    Raises EngineUnavailable without the warehouse part, SyncError's family for a bad DSN.
    """
    need_warehouse()
    from satchel_warehouse import dsn as dsns

    return dsns.read(dsn)[1]


def is_named(settings: Settings, key: str = "dsn") -> bool:
    """Whether the settings or a secret have that DSN; no passphrase is asked for."""
    return bool(_said(settings, key)) or has_secret(settings, f"warehouse.{key}")


def replica_dsn(settings: Settings) -> Dsn:
    """The DSN that a replica syncs by. Raises ConfigInvalid when none is named."""
    return _named(settings, "dsn", "no warehouse is configured")


def admin_dsn(settings: Settings) -> Dsn:
    """The DSN of the warehouse's owner. Raises ConfigInvalid when none is named."""
    return _named(settings, "admin_dsn", "no administrator's DSN is configured")


def report_dsn(settings: Settings) -> Dsn:
    """The DSN for reports, searches and audits: its own, else the owner's.

    Raises ConfigInvalid when neither is named.
    """
    if is_named(settings, "report_dsn") or not is_named(settings, "admin_dsn"):
        return _named(settings, "report_dsn", "no DSN for reports is configured")
    return admin_dsn(settings)


def need_warehouse() -> None:
    """Raise EngineUnavailable with the advice when the warehouse extra is not installed."""
    try:
        import satchel_warehouse.endpoint  # noqa: F401

        # Only looked for: a sync has no use for what takes a third of a second to import.
        missing = next((name for name in ("sqlalchemy", "alembic") if find_spec(name) is None), "")
    except ImportError as error:
        missing = str(error.name)
    if missing:
        raise EngineUnavailable(
            f"the warehouse part is not installed: {missing} is missing",
            hint=from_wheels("warehouse"),
        )


def _said(settings: Settings, key: str) -> str | None:
    return {
        "dsn": settings.warehouse_dsn,
        "admin_dsn": settings.warehouse_admin_dsn,
        "report_dsn": settings.warehouse_report_dsn,
    }[key]


def _named(settings: Settings, key: str, missing: str) -> Dsn:
    """A DSN that was given, once it is known that it can be used: before any import or socket.

    The settings' own with its password as a secret, or one that is a secret as a whole.
    """
    settings.require_built()
    dsn = _said(settings, key)
    if not dsn and not is_named(settings, key):
        raise ConfigInvalid(
            missing,
            hint=f"name it: SATCHEL_WAREHOUSE_{key.upper()}, or `{key}` in [warehouse], or"
            f" `satchel secret set warehouse.{key}`",
            field=f"warehouse.{key}",
        )
    need_warehouse()
    from satchel_warehouse.dsn import parted
    from satchel_warehouse.login import Login

    if dsn:
        return Login(dsn, secret_of(settings, PASSWORDS[key]))
    return parted(secret_of(settings, f"warehouse.{key}")() or "")
