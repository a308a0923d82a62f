"""WarehouseError and its family; those that a sync can meet belong to the family of the port too.

WarehouseError                1
├── DsnInvalid                2  the DSN cannot be read
├── LoginInvalid              2  a login's name cannot be one
├── WarehouseUnreachable     10  no connection, or another passing trouble (HubUnreachable)
├── WarehouseReadOnly        10  no commit is possible now (HubReadOnly)
├── WarehouseNotMigrated     13  `satchel warehouse init` or `migrate` has to run first
├── WarehouseVersionsDiffer  13  hub and replica speak different versions (VersionsDiffer)
├── WarehouseReconcile       12  this replica belongs to another hub (NeedsReconcile)
├── WarehouseRefused          4  a policy or a right says no (HubRefused)
└── EmbeddedFailed            1  the embedded Postgres does not start or stop
"""

from __future__ import annotations

import psycopg

from satchel_sync.errors import (
    HubReadOnly,
    HubRefused,
    HubUnreachable,
    NeedsReconcile,
    VersionsDiffer,
)

INIT_HINT = "run `satchel warehouse init` with an administrator's DSN"


class WarehouseError(Exception):
    """The warehouse failed. `code` is for programs, `exit_code` for shells, `hint` for people."""

    code = "warehouse_failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class DsnInvalid(WarehouseError):
    """The DSN cannot be read."""

    code = "dsn_invalid"
    exit_code = 2


class LoginInvalid(WarehouseError):
    """A login's name cannot be one."""

    code = "login_invalid"
    exit_code = 2


class WarehouseUnreachable(WarehouseError, HubUnreachable):
    """No connection, or another passing trouble; nothing is lost."""

    code = "hub_unreachable"
    exit_code = 10


class WarehouseReadOnly(WarehouseError, HubReadOnly):
    """The hub is a standby or in maintenance: it cannot commit."""

    code = "hub_read_only"
    exit_code = 10


class WarehouseNotMigrated(WarehouseError):
    """The database holds no hub, or one of an older or newer satchel."""

    code = "warehouse_not_migrated"
    exit_code = 13


class WarehouseVersionsDiffer(WarehouseError, VersionsDiffer):
    """Hub and replica speak different versions."""

    code = "versions_differ"
    exit_code = 13


class WarehouseReconcile(WarehouseError, NeedsReconcile):
    """The replica's record names another hub."""

    code = "needs_reconcile"
    exit_code = 12


class WarehouseRefused(WarehouseError, HubRefused):
    """The hub's policy or the database's rights say no."""

    code = "hub_refused"
    exit_code = 4


class EmbeddedFailed(WarehouseError):
    """The embedded Postgres does not start or stop."""

    code = "embedded_failed"


TRANSIENT_STATES = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization failure, deadlock, lock timeout, a key that was made meanwhile: worth a retry."""

_NOT_MIGRATED = frozenset({"3F000", "42883", "42P01", "42703"})
_REFUSED = frozenset({"42501", "SA001"})
_PASSING = ("08", "53", "55", "57", "40")


def translate(error: psycopg.Error) -> WarehouseError:
    """What a database error means here, by its SQLSTATE; the message quotes the server's."""
    state = error.sqlstate or ""
    said = error.diag.message_primary or str(error).strip().splitlines()[0]
    if state == "25006":
        return WarehouseReadOnly(f"the warehouse is read-only: {said}", hint="try again later")
    if state in _NOT_MIGRATED:
        return WarehouseNotMigrated(
            f"the database holds no warehouse of this version: {said}", hint=INIT_HINT
        )
    if state in _REFUSED:
        return WarehouseRefused(
            f"the warehouse refused: {said}",
            hint="a replica's login is made by `satchel warehouse grant`; an administrator needs"
            " CREATEROLE, and `satchel_owner` and `satchel_replica` WITH ADMIN OPTION",
        )
    if state == "SA002":
        return WarehouseVersionsDiffer(said, hint="upgrade the older side")
    if state == "SA003":
        return WarehouseReconcile(
            said,
            hint="check the DSN; to move this replica to this warehouse, sync once with --adopt",
        )
    if state[:2] in _PASSING or (not state and isinstance(error, psycopg.OperationalError)):
        return WarehouseUnreachable(
            f"the warehouse cannot be reached now: {said}", hint="nothing is lost; sync again later"
        )
    return WarehouseError(f"the warehouse failed ({state or 'no state'}): {said}")
