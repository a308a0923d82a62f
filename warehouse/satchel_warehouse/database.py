"""Connections to Postgres: the one place that opens them, each inside its network path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import conninfo, pq

from satchel_crypto import network, random_bytes
from satchel_crypto.network import Policy, Rule, Target
from satchel_warehouse.errors import (
    TRANSIENT_STATES,
    DsnInvalid,
    WarehouseRefused,
    WarehouseUnreachable,
    translate,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection as SqlConnection

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")

SYNC_PATH = "sync.postgres"
ADMIN_PATH = "warehouse.admin"

_SCHEMES = ("postgresql://", "postgres://")
_PORT = re.compile("[0-9]{1,5}")

CONNECT_TIMEOUT_S = 10
TRIES_MAX = 5
PAUSE_MS = 50


def connect(dsn: str, *, path: str, policy: Policy | None = None) -> Connection:
    """An autocommit connection through the network path `path`.

    Without a policy the path is enabled, as the caller named the DSN: local, or TLS that verifies.
    Raises DsnInvalid, NetworkRefused, WarehouseRefused, WarehouseUnreachable, all without password.
    """
    options = _options(dsn)
    target, rules = _target(options), policy or Policy(rules={path: Rule()})
    if not target.local:
        options.setdefault("sslmode", target.tls)
        _keep_password_out(options)
    with network.open(path, target, policy=rules):
        try:
            return psycopg.connect(**options, autocommit=True)
        except psycopg.OperationalError as error:
            raise _unreachable(target, error) from None
        except (psycopg.Error, ValueError):
            raise _unreadable("an option of it cannot be used") from None


@contextmanager
def sqlalchemy(connection: Connection) -> Iterator[SqlConnection]:
    """A SQLAlchemy connection over an open one, in one transaction (for alembic and metadata)."""
    from sqlalchemy import create_engine  # 0.2 s, and a sync does without it
    from sqlalchemy.pool import StaticPool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool
    )
    connection.autocommit = False
    try:
        with engine.begin() as wrapped:
            yield wrapped
    finally:
        if not connection.closed:
            connection.autocommit = True


def retried(operation: Callable[[], Result]) -> Result:
    """Run `operation`, again with growing jittered pauses on lock trouble; other errors translated.

    Raises WarehouseError and its family.
    """
    for tried in range(1, TRIES_MAX + 1):
        try:
            return operation()
        except psycopg.Error as error:
            if error.sqlstate not in TRANSIENT_STATES or tried == TRIES_MAX:
                raise translate(error) from error
        sleep(PAUSE_MS * 2**tried * (0.5 + random_bytes(1)[0] / 255) / 1000)
    raise AssertionError("unreachable: the last try returns or raises")


def _unreadable(reason: str) -> DsnInvalid:
    """Never with a word of the DSN, nor libpq's message, which quotes it: that may be a password.

    To be raised `from None`.
    """
    return DsnInvalid(
        f"the warehouse DSN cannot be read: {reason}",
        hint="give a libpq URI: postgresql://user@host:5432/database; write @ : / ? # in a"
        " password as %40 %3A %2F %3F %23",
    )


def _options(dsn: str) -> dict[str, Any]:
    """libpq's reading of a DSN. Where a password may have been read as host or path, none."""
    try:
        options: dict[str, Any] = dict(conninfo.conninfo_to_dict(dsn))
    except (psycopg.Error, UnicodeError):
        raise _unreadable("libpq does not understand it") from None
    if "\0" in dsn:
        raise _unreadable("it has a NUL")
    rest = dsn.partition("://")[2] if dsn.startswith(_SCHEMES) else ""
    if rest.count("@") > 1 or "/" in rest.rpartition("@")[0]:
        raise _unreadable("an @ or a / stands where it has to be written as %40 or %2F")
    for port in str(options.get("port") or "").split(","):
        if port and not _PORT.fullmatch(port):
            raise _unreadable("the port is no number")
    options.setdefault("connect_timeout", CONNECT_TIMEOUT_S)
    options.setdefault("application_name", "satchel")
    return options | {"client_encoding": "UTF8"}


def _target(options: dict[str, Any]) -> Target:
    """Where libpq will connect to: the first of several hosts that is not local, if there is one.

    A service is resolved inside libpq, so what it names counts as remote.
    """
    known = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}

    def value(name: str) -> str:
        default = known.get(name)
        return str(options.get(name) or (default.decode() if default else ""))

    tls = value("sslmode")
    if value("service"):
        return Target(f"service {value('service')}", 0, str(options.get("sslmode") or ""))
    hosts = (value("hostaddr") or value("host")).split(",")
    port = int(first) if _PORT.fullmatch(first := value("port").split(",")[0]) else 5432
    targets = [Target(host, port, tls) for host in hosts]
    remote = next((target for target in targets if not target.local), None)
    if remote is None:
        return targets[0]
    named = options.get("sslmode") or tls
    return Target(remote.host, port, "verify-full" if named in ("", "prefer") else named)


def _keep_password_out(options: dict[str, Any]) -> None:
    if options.get("password"):
        raise WarehouseRefused(
            "a password inside a DSN is for this machine only",
            hint="use PGPASSFILE or a service file for a remote warehouse",
        )


_NO_ENTRY = ("authentication failed", "does not exist", "no pg_hba.conf entry", "permission denied")
"""libpq gives no SQLSTATE of a refused connection, so it is told by the server's English words."""
_BAD_OPTION = re.compile('^(?!.*FATAL:).*invalid .*"')
"""What libpq says, quoting the value, of an option that it refuses before it connects."""


def _unreachable(
    target: Target, error: psycopg.OperationalError
) -> WarehouseUnreachable | WarehouseRefused | DsnInvalid:
    lines = str(error).strip().splitlines() or ["no reason given"]
    if _BAD_OPTION.search(lines[0]):
        return _unreadable("an option of it cannot be used")
    if any(words in lines[0] for words in _NO_ENTRY):
        return WarehouseRefused(
            f"the warehouse at {target.host or 'the local socket'} lets this login not in: "
            f"{lines[0].rpartition('FATAL:')[2].strip()}",
            hint="`satchel warehouse grant --replica NAME` makes a login and its password",
        )
    return WarehouseUnreachable(
        f"the warehouse at {target.host or 'the local socket'} does not answer: {lines[0]}",
        hint="nothing is lost; check that Postgres runs there and that this login may connect",
    )
