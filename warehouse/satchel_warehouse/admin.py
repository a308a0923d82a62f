"""What an administrator does to a warehouse: init, migrate, grant, look at its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg import sql

from satchel_crypto.network import Policy
from satchel_crypto.provider import Provider
from satchel_sync.stamp import INT64_MAX
from satchel_sync.tables import TABLES
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse import folding, functions, machines
from satchel_warehouse import partitions as parts
from satchel_warehouse.audit.found import Chain, Own
from satchel_warehouse.audit.looking import look
from satchel_warehouse.database import (
    ADMIN_PATH,
    NAMED,
    Connection,
    retried,
    sqlalchemy,
)
from satchel_warehouse.functions import GROUPS, OWNER, TENANT
from satchel_warehouse.login import Dsn
from satchel_warehouse.machines import Machine
from satchel_warehouse.sessions import administered, one, revision

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection as SqlConnection

MIGRATE_LOCK = 5_202_611_290
"""Key of the advisory lock that one migration at a time holds."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a warehouse. `rows`: kind -> {"alive": n, "dead": n}; over all tenants.

    `hub_id` is the default tenant's: to its replicas each tenant is a hub of its own.
    `epochs`: tenant -> the name of the time between two restores that its machines found.
    """

    hub_id: str
    server: str
    epochs: dict[str, str]
    revision: str
    protocol: int
    schema: int
    rows: dict[str, dict[str, int]]
    conflicts: int
    machines: list[Machine]


def init(admin_dsn: Dsn, *, partitions: int = 0, policy: Policy = NAMED) -> Status:
    """Make roles, schema, tables, functions, the hub's identity and the default tenant.

    Safe to repeat: what is there stays, functions are made anew. With `partitions` the tables of a
    new warehouse that grow have so many. Raises WarehouseError's family.
    """
    with administered(admin_dsn, policy) as db:
        parts.require(db, partitions)
        retried(lambda: _prepare(db))
        _migrate(db, _register, partitions)
    return status(admin_dsn, policy=policy)


def migrate(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Status:
    """Bring an initialised warehouse to this version. Raises WarehouseNotMigrated without one."""
    with administered(admin_dsn, policy) as db:
        revision(db)
        if not _has_groups(db):
            retried(lambda: _prepare(db))
        retried(lambda: _migrate(db, _upgrade))  # a push that runs may deadlock with it
    return status(admin_dsn, policy=policy)


def replicas(admin_dsn: Dsn, *, policy: Policy = NAMED) -> list[Machine]:
    """The machines that the warehouse knows. Raises WarehouseNotMigrated when it is none."""
    with administered(admin_dsn, policy) as db:
        revision(db)
        return machines.listed(db)


def revoke_replica(
    admin_dsn: Dsn, replica_id: bytes, *, undo: bool = False, policy: Policy = NAMED
) -> list[str]:
    """Close the doors to one replica and the later ids of its file, or open them again.

    Returns the ids that this shuts out or takes back: none when the hub does not know the replica,
    or nobody revoked it.
    """
    with administered(admin_dsn, policy) as db:
        revision(db)
        return machines.take_back(db, replica_id) if undo else machines.revoke(db, replica_id)


def status(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Status:
    """What the warehouse holds. Raises WarehouseNotMigrated when it is none."""
    with administered(admin_dsn, policy) as db, db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = revision(db)
        hub = one(
            db,
            "SELECT encode(id, 'hex'), protocol, schema"
            " FROM satchel.hub, satchel.tenant WHERE name = %s",
            TENANT,
        )
        return Status(
            hub_id=hub[0],
            server=one(db, "SHOW server_version")[0],
            epochs=dict(db.execute("SELECT name, epoch FROM satchel.tenant ORDER BY number")),
            revision=found,
            protocol=hub[1],
            schema=hub[2],
            rows={table.name: _count(db, table.name) for table in TABLES},
            conflicts=one(db, "SELECT count(*) FROM satchel.conflict")[0],
            machines=machines.listed(db),
        )


def audit(
    dsn: Dsn,
    provider: Provider,
    *,
    own: Mapping[tuple[str, str], Own] | None = None,
    path: str = ADMIN_PATH,
    policy: Policy = NAMED,
) -> list[Chain]:
    """What is found of the audit chains of all machines (`audit.looking`); nothing is written.

    `dsn` is an administrator's or an auditor's, who sees those of one tenant. `own` is (replica id,
    chain) -> what the caller's machine holds of it. Raises WarehouseError's family.
    """
    with administered(dsn, policy, path=path) as db:
        return look(db, provider, own)


def _prepare(db: Connection) -> None:
    """Roles and schemas; the database's temp tables are for the owner only."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATE_LOCK,))
        db.execute(functions.roles().encode())


def _has_groups(db: Connection) -> bool:
    """Whether all group roles are there: a warehouse of an older version has fewer."""
    query = "SELECT count(*) FROM pg_roles WHERE rolname = ANY (%s)"
    return int(one(db, query, list(GROUPS))[0]) == len(GROUPS)


def _migrate(db: Connection, name: Callable[[Connection], None], partitions: int = 0) -> None:
    """Alembic's steps, the functions and their version, as the owner, under one lock.

    In one transaction: a hub of new doors that said its old version would let nobody in.
    """
    from alembic import command  # 0.5 s, and whoever only looks does without it

    with sqlalchemy(db) as wrapped:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATE_LOCK,))
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
        command.upgrade(alembic_config(wrapped, parts.BY_HASH if partitions else None), "head")
        for statement in functions.statements():
            db.execute(statement.encode())
        parts.make(db, partitions)
        folding.fold(db)
        name(db)


def alembic_config(
    connection: SqlConnection | None, partition_by: str | None = None, **options: Any
) -> Config:
    """Alembic's settings for one connection, or none where it only writes SQL."""
    from alembic.config import Config

    config = Config(**options)
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes |= {"connection": connection, "partition_by": partition_by}
    return config


def _register(db: Connection) -> None:
    """The hub's own row, made or brought to this version, and the default tenant."""
    db.execute(functions.identity().encode())


def _upgrade(db: Connection) -> None:
    """The hub's own row brought to this version, if there is one."""
    db.execute("UPDATE satchel.hub SET protocol = %s, schema = %s", (PROTOCOL, SCHEMA))


def _count(db: Connection, kind: str) -> dict[str, int]:
    query = sql.SQL(
        "SELECT count(*) FILTER (WHERE (life >> 16) %% 2 = 1 AND life < %s), count(*) FROM {}"
    )
    table = sql.Identifier("satchel", kind)
    row = db.execute(query.format(table), (INT64_MAX,)).fetchone() or (0, 0)
    return {"alive": row[0], "dead": row[1] - row[0]}
