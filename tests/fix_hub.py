"""A real hub for tests: one embedded Postgres a session, a fresh database for each world."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from satchel_warehouse import admin, roles, tenants
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.serve_embedded import running

COLUMNS = {table.name: {c.name: c.tag for c in table.columns} for table in TABLES}
PREFIX = "satchel_test_"
ORIGIN = b"\x01" * 16
"""The replica that rows of these tests come from, whoever pushes them: every hub knows it."""


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
def fresh_database(cluster_dsn: str, template: str = "template1") -> Iterator[str]:
    """The DSN of a new database under a random name, empty or like another; dropped afterwards."""
    name = sql.Identifier(PREFIX + uuid4().hex[:12])
    made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template))
    with psycopg.connect(cluster_dsn, autocommit=True) as db:
        db.execute(made)
    try:
        yield conninfo.make_conninfo(cluster_dsn, dbname=name.as_string().strip('"'))
    finally:
        with psycopg.connect(cluster_dsn, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@contextmanager
def fresh_hub(cluster_dsn: str, partitions: int = 0) -> Iterator[HubWorld]:
    """An initialised hub in a new database, with the roles that a test made removed at the end."""
    with fresh_database(cluster_dsn) as dsn:
        admin.init(dsn, partitions=partitions)
        world = HubWorld(dsn)
        world.know(ORIGIN)
        try:
            yield world
        finally:
            world.close()
            world.drop_backups()
    drop_logins(cluster_dsn, world.logins)


@contextmanager
def copied_hub(world: HubWorld) -> Iterator[str]:
    """The DSN of a copy of a hub at rest, with the rights on the database that it has."""
    rights = """UPDATE pg_database SET datacl = (SELECT datacl FROM pg_database WHERE datname = %s)
        WHERE datname = %s"""  # not a part of a copy
    with fresh_database(world.dsn, template=world.name) as dsn:
        copy = HubWorld(dsn)
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute(rights, (world.name, copy.name))
        yield dsn


def drop_logins(cluster_dsn: str, logins: list[str]) -> None:
    """Remove roles that own nothing in any database."""
    with psycopg.connect(cluster_dsn, autocommit=True) as db:
        for login in logins:
            db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


@dataclass
class HubWorld:
    """A hub's administrator and any number of replicas, each with a login of its own."""

    dsn: str
    logins: list[str] = field(default_factory=list)
    hubs: list[WarehouseHub] = field(default_factory=list)
    sessions: list[psycopg.Connection[Any]] = field(default_factory=list)
    attempts: int = 0
    said: dict[int, str] = field(default_factory=dict)
    backups: list[str] = field(default_factory=list)

    def login(self, tenant: str = "default") -> str:
        """The DSN of a new replica login; of a made-up tenant when it was seeded before."""
        name = PREFIX + uuid4().hex[:12]
        if tenant != "default" and not tenants.is_made_up(tenant):
            tenants.add(self.dsn, tenant)
        roles.grant(self.dsn, name, tenant=tenant)
        self.logins.append(name)
        return conninfo.make_conninfo(self.dsn, user=name)

    def replica(self, number: int, tenant: str = "default") -> WarehouseHub:
        """The hub as a replica with a login of its own sees it, hello said."""
        hub = WarehouseHub(self.login(tenant))
        self.hubs.append(hub)
        self.hello(hub, number)
        return hub

    def hello(self, hub: WarehouseHub, number: int) -> Welcome:
        """Open one more attempt of a replica, which knows its last one."""
        self.attempts += 1
        attempt, last = f"attempt-{self.attempts}", self.said.get(number, "")
        welcome = hub.hello(hello_of(number, attempt, last_attempt=last))
        self.said[number] = attempt
        return welcome

    def know(self, *origins: bytes, tenant: str = "default") -> None:
        """Let the hub know replica ids: as predecessors of a machine that never comes again."""
        hub = WarehouseHub(self.login(tenant))
        self.hubs.append(hub)
        hub.hello(replace(hello_of(0, uuid4().hex), replica_id=uuid4().bytes, predecessors=origins))
        self.hubs.remove(hub)
        hub.close()

    def backup(self) -> None:
        """Keep a true copy of the database as it is now. Ends all sessions with it."""
        name = PREFIX + uuid4().hex[:12]
        self._copy(self.name, name)
        self.backups.append(name)

    def rewind(self) -> None:
        """Set the hub back to its latest backup, as a restore does. Ends all sessions with it."""
        self._copy(self.backups[-1], self.name)
        admin.init(self.dsn)  # rights on a database are not part of a copy, nor of a dump

    @property
    def name(self) -> str:
        """The database's name."""
        return str(conninfo.conninfo_to_dict(self.dsn)["dbname"])

    def _copy(self, source: str, target: str) -> None:
        self.close()
        with self._elsewhere() as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (source,),
            )
            drop = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
            db.execute(sql.SQL(drop).format(sql.Identifier(target)))
            db.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(target), sql.Identifier(source)
                )
            )

    def drop_backups(self) -> None:
        """Remove the copies."""
        with self._elsewhere() as db:
            for name in self.backups:
                db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        self.backups.clear()

    @contextmanager
    def _elsewhere(self) -> Iterator[psycopg.Connection[Any]]:
        elsewhere = conninfo.make_conninfo(self.dsn, dbname="postgres")
        with psycopg.connect(elsewhere, autocommit=True) as db:
            yield db

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


def hello_of(number: int, attempt: str, *, last_attempt: str = "") -> Hello:
    """What replica `number` says first."""
    return Hello(
        bytes([number]) * 16,
        attempt,
        PROTOCOL,
        SCHEMA,
        COLUMNS,
        last_attempt=last_attempt,
        host=f"host-{number}",
    )


def row_of(
    table: Table,
    key: str,
    values: tuple[Value, ...],
    *,
    hlc: int = 1 << 40,
    life: int = CREATED,
    lineage: str = "",
    origin: bytes = ORIGIN,
) -> Row:
    """A row in the version that its content has."""
    stamp = Stamp(life, hlc, origin, row_digest(table, key, values))
    return Row(key, stamp, lineage, values)


def titled(table: Table, **columns: Value) -> tuple[Value, ...]:
    """Values of which only the named columns are set."""
    return (*(columns.get(name) for name in table.names), None)
