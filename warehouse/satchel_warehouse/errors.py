"""WarehouseError and its family; those that a sync can meet belong to the family of the port too.

WarehouseError                1
├── DsnInvalid                2  the DSN cannot be read
├── LoginInvalid              2  a login's name cannot be one
├── TenantInvalid             2  a tenant's name cannot be one
├── TenantUnknown             3  the warehouse has no such tenant
├── DumpInvalid               2  a file is no dump of a warehouse, or is damaged
├── WarehouseUnreachable     10  no connection, or another passing trouble (HubUnreachable)
├── WarehouseReadOnly        10  no commit is possible now (HubReadOnly)
├── WarehouseNotMigrated     13  `warehouse init` or `migrate` has to run first (VersionsDiffer)
├── WarehouseVersionsDiffer  13  hub and replica speak different versions (VersionsDiffer)
│   └── WarehouseKindRefused 13  the hub lacks a kind, or a door of it (KindRefused)
├── WarehouseBatchRefused     1  the database says no to a row of a batch (BatchRefused)
├── WarehouseReconcile       12  this replica belongs to another hub (NeedsReconcile)
├── WarehouseRefused          4  a policy or a right says no (HubRefused)
├── WarehouseFailed           1  the database failed for no reason that is known here (SyncError)
└── EmbeddedFailed            1  the embedded Postgres does not start or stop
"""

from __future__ import annotations

import re

import psycopg

from satchel_sync.errors import (
    BatchRefused,
    HubReadOnly,
    HubRefused,
    HubUnreachable,
    KindRefused,
    NeedsReconcile,
    SyncError,
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


class TenantInvalid(WarehouseError):
    """A tenant's name cannot be one."""

    code = "tenant_invalid"
    exit_code = 2


class TenantUnknown(WarehouseError):
    """The warehouse has no such tenant."""

    code = "tenant_unknown"
    exit_code = 3


class DumpInvalid(WarehouseError):
    """A file is no dump of a warehouse that can be restored."""

    code = "dump_invalid"
    exit_code = 2


class WarehouseUnreachable(WarehouseError, HubUnreachable):
    """No connection, or another passing trouble; nothing is lost."""

    code = "hub_unreachable"
    exit_code = 10


class WarehouseReadOnly(WarehouseError, HubReadOnly):
    """The hub is a standby or in maintenance: it cannot commit."""

    code = "hub_read_only"
    exit_code = 10


class WarehouseNotMigrated(WarehouseError, VersionsDiffer):
    """The database holds no hub, or one of an older or newer satchel."""

    code = "warehouse_not_migrated"
    exit_code = 13


class WarehouseVersionsDiffer(WarehouseError, VersionsDiffer):
    """Hub and replica speak different versions."""

    code = "versions_differ"
    exit_code = 13


class WarehouseKindRefused(WarehouseVersionsDiffer, KindRefused):
    """The hub does not know a kind, or not as this side does; the others go on."""

    code = "kind_refused"


class WarehouseBatchRefused(WarehouseError, BatchRefused):
    """A row of a batch cannot be sent or stored, and the database does not tell which."""

    code = "batch_refused"

    @staticmethod
    def of(error: Exception) -> WarehouseBatchRefused:
        """With the server's first line only: the others may quote the row."""
        said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return WarehouseBatchRefused(f"it cannot be stored: {said or type(error).__name__}")


class WarehouseReconcile(WarehouseError, NeedsReconcile):
    """The replica's record names another hub."""

    code = "needs_reconcile"
    exit_code = 12


class WarehouseRefused(WarehouseError, HubRefused):
    """The hub's policy or the database's rights say no."""

    code = "hub_refused"
    exit_code = 4


class WarehouseFailed(WarehouseError, SyncError):
    """The database failed, and it is not known here what that means."""


class EmbeddedFailed(WarehouseError):
    """The embedded Postgres does not start or stop."""

    code = "embedded_failed"


TRANSIENT_STATES = frozenset({"40001", "40P01", "55P03", "23505"})
"""Serialization failure, deadlock, lock timeout, a key that was made meanwhile: worth a retry."""

_NOT_MIGRATED = frozenset({"3F000", "42883", "42P01", "42703"})
_REFUSED = frozenset({"42501", "SA001"})
_PASSING = ("08", "53", "55", "57", "58", "40", "25P03", "25P04")
"""Lost connection, disk and memory, wrong state, operator, system, rollback, timeouts."""


_UNVERIFIED = {
    "certificate verify failed": "its certificate is out of date, or of a CA that is not in"
    " sslrootcert (PGSSLROOTCERT, ~/.postgresql/root.crt): put the CA's certificate there, renew"
    " the server's, check this machine's clock;"
    " `openssl s_client -starttls postgres -connect HOST:PORT -CAfile FILE` tells which it is",
    "does not match host name": "name the host in the DSN as its certificate does, or give the"
    " server a certificate for this name; `hostaddr` says where it is if DNS does not know it",
    "server does not support SSL": "set `ssl = on` at the server: over a network satchel"
    " speaks TLS only",
    "root certificate file": "put the CA's certificate into ~/.postgresql/root.crt, or name its"
    " file by sslrootcert or PGSSLROOTCERT; sslrootcert=system takes the system's CAs",
    "private key file": "sslkey has to be a file of yours that nobody else may read (0600)",
    "certificate file": "sslcert and sslkey have to name your client certificate and its key",
    " alert ": "the server refused this machine's TLS: if it asks for a client certificate, name"
    " that by sslcert and sslkey; else its TLS versions and ours do not meet",
}
"""What libpq says of TLS that failed for good, and how to mend it."""
_NO_ENTRY = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "pg_hba.conf rejects",
    "is not permitted to log in",
    "permission denied",
    "no such user",
    "no such database",
    "no password supplied",
)
"""libpq gives no SQLSTATE of a refused connection, so it is told by the server's English words."""
_BAD_OPTION = re.compile('^(?!.*FATAL:).*invalid .*"')
"""What libpq says, quoting the value, of an option that it refuses before it connects."""
_SERVER = re.compile('server at "([^"]*)"')


def not_connected(host: str, error: psycopg.OperationalError) -> WarehouseError:
    """What it means that no connection came about; of several hosts the gravest counts.

    `host` is empty for the local socket, and a list with commas if several were tried.
    The message quotes the line in which libpq or the server says so. To be raised `from None`.
    """
    lines = str(error).strip().splitlines() or ["no reason given"]
    if _BAD_OPTION.search(lines[0]):
        return DsnInvalid("the warehouse DSN cannot be read: an option of it cannot be used")
    for words, hint in _UNVERIFIED.items():
        if line := _with(lines, words):
            message = f"the warehouse at {_host(line, host)} is not verified: {_cause(line)}"
            return WarehouseRefused(message, hint=hint)
    for words in _NO_ENTRY:
        if line := _with(lines, words):
            return WarehouseRefused(
                f"the warehouse at {_host(line, host)} lets this login not in: {_cause(line)}",
                hint="`satchel warehouse grant --replica NAME` makes a login and its password",
            )
    if line := _with(lines, "unsupported startup parameter"):
        return WarehouseRefused(
            f"the pooler at {_host(line, host)} refuses an option of the DSN: {_cause(line)}",
            hint="leave `options` (PGOPTIONS) out, and set it by ALTER ROLE ... SET at the server",
        )
    if line := _with(lines, "session is read-only") or _with(lines, "server is in hot standby"):
        return WarehouseReadOnly(
            f"the warehouse at {_host(line, host)} is read-only: {_cause(line)}",
            hint="nothing is lost; sync again when a primary is there",
        )
    return WarehouseUnreachable(
        f"the warehouse at {_host(lines[0], host)} does not answer: {lines[0]}",
        hint="nothing is lost; check that Postgres runs there and that this login may connect",
    )


def _with(lines: list[str], words: str) -> str:
    return next((line for line in lines if words in line), "")


def _host(line: str, host: str) -> str:
    """The host, or of several the one of this line: by its address, as psycopg looks names up."""
    found = _SERVER.search(line) if "," in host else None
    return found.group(1) if found else host or "the local socket"


def _cause(line: str) -> str:
    """The part of a line after libpq's account of where it tried."""
    return line.rpartition(" failed: ")[2].removeprefix("FATAL:").strip()


_DATA = ("22", "23", "44", "54", "P0", "SA005")
"""Classes: data, constraints, a view's check, limits of the program, somebody's trigger."""
_OURS = "_pkey"


def is_data_error(error: psycopg.Error) -> bool:
    """Whether the rows are at fault. A key that was made meanwhile is worth another try instead."""
    state = error.sqlstate or ""
    if state == "23505":
        return not (error.diag.constraint_name or "").endswith(_OURS)
    return state.startswith(_DATA) or (not state and isinstance(error, psycopg.DataError))


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
            hint=error.diag.message_hint
            or "logins of replicas, reporters and auditors are made by `satchel warehouse grant`;"
            " an administrator needs CREATEROLE, and the roles `satchel_*` WITH ADMIN OPTION",
        )
    if state == "SA002":
        return WarehouseVersionsDiffer(said, hint="upgrade the older side")
    if state == "SA003":
        return WarehouseReconcile(
            said,
            hint="check the DSN; to move this replica to this warehouse, sync once with --adopt",
        )
    if state == "XX000" and "cache lookup failed for function" in said:
        # A door that waited for the migration is gone when it goes on.
        said, state = "the warehouse was migrated while this sync was running", "55000"
    if state.startswith(_PASSING) or (not state and isinstance(error, psycopg.OperationalError)):
        return WarehouseUnreachable(
            f"the warehouse cannot be reached now: {said}", hint="nothing is lost; sync again later"
        )
    return WarehouseFailed(f"the warehouse failed ({state or 'no state'}): {said}")
