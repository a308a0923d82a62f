"""Connections to Postgres: the one place that opens them, each inside its network path."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from satchel_crypto import network, random_bytes
from satchel_crypto.network import Policy, Rule
from satchel_warehouse import dsn as dsns
from satchel_warehouse.errors import TRANSIENT_STATES, not_connected, translate
from satchel_warehouse.login import Dsn

if TYPE_CHECKING:
    from sqlalchemy import Connection as SqlConnection

Connection = psycopg.Connection[tuple[Any, ...]]
Result = TypeVar("Result")

SYNC_PATH = "sync.postgres"
ADMIN_PATH = "warehouse.admin"
REPORT_PATH = "warehouse.report"
SERVE_PATH = "warehouse.serve"
NAMED = Policy(rules={path: Rule() for path in (SYNC_PATH, ADMIN_PATH, REPORT_PATH, SERVE_PATH)})
"""The policy of a caller who names a DSN in a program and has no other: local, or verified TLS."""

ANSWER_TIMEOUT_S = 150
"""A sync gives a hub up that is silent for so long. A login's statements may take 120 s there."""
TRIES_MAX = 5
PAUSE_MS = 50


def connect(dsn: Dsn, *, path: str, policy: Policy = NAMED) -> Connection:
    """An autocommit connection through the network path `path`.

    Raises DsnInvalid, NetworkRefused, WarehouseRefused, WarehouseUnreachable, all without password.
    """
    network.require_enabled(path, policy)
    options, target = dsns.read(dsn)
    with network.open(path, target, *dsns.targets(options), policy=policy):
        options = dsns.with_password(dsn, options)
        try:
            return _dialled(path, dsns.at_loopback(options))
        except psycopg.OperationalError as error:
            several = "," in options["host"] + options["hostaddr"]
            tried = (options["host"] or options["hostaddr"]) if several else target.host
            raise not_connected(tried, error) from None
        except (psycopg.Error, ValueError):
            raise dsns.unreadable("an option of it cannot be used") from None


def _dialled(path: str, options: dict[str, Any]) -> Connection:
    """The one call that makes libpq connect: in C, where no audit hook sees a socket."""
    network.require_open(path)
    kind = _Answering if path == SYNC_PATH else psycopg.Connection
    # Without prepared statements, a pooler may give each transaction another session.
    return kind.connect(**options, autocommit=True, prepare_threshold=None)


@contextmanager
def sqlalchemy(connection: Connection) -> Iterator[SqlConnection]:
    """A SQLAlchemy connection over an open one, in one transaction (for alembic and metadata).

    What the database says is raised as psycopg's own error.
    """
    from sqlalchemy import create_engine  # 0.2 s, and a sync does without it
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool
    )
    connection.autocommit = False
    try:
        with engine.begin() as wrapped:
            yield wrapped
    except DBAPIError as error:
        if not isinstance(error.orig, psycopg.Error):
            raise
        raise error.orig from error
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


class _Answering(psycopg.Connection[tuple[Any, ...]]):
    """Closes itself when the server is silent for ANSWER_TIMEOUT_S while an answer is due.

    TCP notices a peer that is gone, but not a process that was stopped, nor a dead proxy before it.
    """

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """As psycopg waits. Raises OperationalError."""
        try:
            return super().wait(_watched(gen), interval, timeout)
        except _Silent:
            self.close()
            raise psycopg.OperationalError(f"no answer for {ANSWER_TIMEOUT_S} s") from None


class _Silent(Exception):
    """Nothing came and nothing could be sent for too long."""


def _watched(gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """A waiting generator of psycopg, in which silence ends; `ready` is false after an interval."""
    heard = monotonic()
    try:
        waits_for = next(gen)
        while True:
            ready = yield waits_for
            if ready:
                heard = monotonic()
            elif monotonic() - heard > ANSWER_TIMEOUT_S:
                raise _Silent
            waits_for = gen.send(ready)
    except StopIteration as end:
        return end.value
