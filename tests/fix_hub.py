"""A real hub for tests: one embedded Postgres a session, a fresh database for each world."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import conninfo, sql

from satchel_sync.changes import Hello, Row, Welcome
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import TABLES, Table, Value
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse import admin
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.serve_embedded import running

COLUMNS = {table.name: {c.name: c.tag for c in table.columns} for table in TABLES}
PREFIX = "satchel_test_"


@contextmanager
def embedded_cluster() -> Iterator[str]:
    """An administrator's DSN of a Postgres in a temporary folder; everything goes at the end."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with running(folder / "cluster", settings={"fsync": "off"}) as (served, _):
            yield served.dsn
    finally:
        shutil.rmtree(folder)


@contextmanager
def fresh_database(cluster_dsn: str) -> Iterator[str]:
    """The DSN of a new, empty database under a random name; dropped afterwards."""
    name = sql.Identifier(PREFIX + uuid4().hex[:12])
    with psycopg.connect(cluster_dsn, autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(name))
    try:
        yield conninfo.make_conninfo(cluster_dsn, dbname=name.as_string().strip('"'))
    finally:
        with psycopg.connect(cluster_dsn, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@contextmanager
def fresh_hub(cluster_dsn: str) -> Iterator[HubWorld]:
    """An initialised hub in a new database, with the roles that a test made removed at the end."""
    with fresh_database(cluster_dsn) as dsn:
        admin.init(dsn)
        world = HubWorld(dsn)
        try:
            yield world
        finally:
            world.close()
    with psycopg.connect(cluster_dsn, autocommit=True) as db:
        for login in world.logins:
            db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


@dataclass
class HubWorld:
    """A hub's administrator and any number of replicas, each with a login of its own."""

    dsn: str
    logins: list[str] = field(default_factory=list)
    hubs: list[WarehouseHub] = field(default_factory=list)
    sessions: list[psycopg.Connection[Any]] = field(default_factory=list)
    attempts: int = 0

    def login(self, tenant: str = "default") -> str:
        """The DSN of a new replica login."""
        name = PREFIX + uuid4().hex[:12]
        admin.grant_replica(self.dsn, name, tenant=tenant)
        self.logins.append(name)
        return conninfo.make_conninfo(self.dsn, user=name)

    def replica(self, number: int, tenant: str = "default") -> WarehouseHub:
        """The hub as a replica with a login of its own sees it, hello said."""
        hub = WarehouseHub(self.login(tenant))
        self.hubs.append(hub)
        self.hello(hub, number)
        return hub

    def hello(self, hub: WarehouseHub, number: int) -> Welcome:
        """Open one more attempt of a replica."""
        self.attempts += 1
        return hub.hello(hello_of(number, f"attempt-{self.attempts}"))

    def psql(self, dsn: str | None = None) -> psycopg.Connection[Any]:
        """A plain session in autocommit, the administrator's unless another DSN is given."""
        session = psycopg.connect(dsn or self.dsn, autocommit=True)
        self.sessions.append(session)
        return session

    def close(self) -> None:
        """End every session that was opened here."""
        for hub in self.hubs:
            hub.close()
        for session in self.sessions:
            session.close()


def hello_of(number: int, attempt: str) -> Hello:
    """What replica `number` says first."""
    return Hello(bytes([number]) * 16, attempt, PROTOCOL, SCHEMA, COLUMNS, host=f"host-{number}")


def row_of(
    table: Table,
    key: str,
    values: tuple[Value, ...],
    *,
    hlc: int = 1 << 40,
    life: int = CREATED,
    lineage: str = "",
    origin: bytes = b"\x01" * 16,
) -> Row:
    """A row in the version that its content has."""
    stamp = Stamp(life, hlc, origin, row_digest(table, key, values))
    return Row(key, stamp, lineage, values)


def titled(table: Table, **columns: Value) -> tuple[Value, ...]:
    """Values of which only the named columns are set."""
    return (*(columns.get(name) for name in table.names), None)
