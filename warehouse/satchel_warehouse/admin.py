"""What an administrator does to a warehouse: init, migrate, grant, look at its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from psycopg import sql
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.exc import DBAPIError

from satchel_crypto import random_bytes
from satchel_crypto.network import Policy
from satchel_crypto.provider import Provider
from satchel_sync.tables import TABLES
from satchel_sync.version import PROTOCOL, SCHEMA
from satchel_warehouse import folding, functions, machines
from satchel_warehouse.audit.found import Chain, Own
from satchel_warehouse.audit.looking import look
from satchel_warehouse.database import (
    ADMIN_PATH,
    NAMED,
    Connection,
    connect,
    retried,
    sqlalchemy,
)
from satchel_warehouse.errors import (
    INIT_HINT,
    LoginInvalid,
    WarehouseNotMigrated,
    WarehouseRefused,
    translate,
)
from satchel_warehouse.functions import OWNER, REPLICAS
from satchel_warehouse.login import Dsn
from satchel_warehouse.machines import Machine

TENANT = "default"
NAME_BYTES_MAX = 63
"""Postgres cuts a longer name off, and the login under the full one is refused."""
MIGRATE_LOCK = 5_202_611_290
"""Key of the advisory lock that one migration at a time holds."""

_LOGIN_LIMITS = {
    "lock_timeout": "10s",
    "statement_timeout": "120s",
    "idle_in_transaction_session_timeout": "30s",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """A login for a replica. The password is told once and stored nowhere."""

    login: str
    tenant: str
    password: str = field(repr=False)


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


def init(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Status:
    """Make roles, schema, tables, functions, the hub's identity and the default tenant.

    Safe to repeat: what is there stays, functions are made anew. Raises WarehouseError's family.
    """
    with _admin(admin_dsn, policy) as db:
        retried(lambda: _prepare(db))
        _migrate(db, _register)
    return status(admin_dsn, policy=policy)


def migrate(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Status:
    """Bring an initialised warehouse to this version. Raises WarehouseNotMigrated without one."""
    with _admin(admin_dsn, policy) as db:
        _revision(db)
        _migrate(db, _upgrade)
    return status(admin_dsn, policy=policy)


def grant_replica(
    admin_dsn: Dsn,
    name: str,
    *,
    tenant: str = TENANT,
    password: str | None = None,
    policy: Policy = NAMED,
) -> Grant:
    """Make the login `name` for replicas of `tenant`, or give it a new password.

    A password is made up when none is given. Raises WarehouseRefused when the role exists and is
    not such a login, or belongs to another tenant.
    """
    if not name or "\0" in name or len(name.encode()) > NAME_BYTES_MAX:
        raise LoginInvalid(
            f"{name[:80]!r} cannot be a login", hint=f"a name has 1 to {NAME_BYTES_MAX} bytes"
        )
    password = password or random_bytes(24).hex()
    with _admin(admin_dsn, policy) as db, db.transaction():
        _revision(db)
        _keep_to_logins(db, name, tenant)
        _make_login(db, name, password)
        with _as_owner(db):
            db.execute("SELECT satchel.add_tenant(%s)", (tenant,))
            db.execute(
                "INSERT INTO satchel.login VALUES (%s, %s, satchel.now_ms())"
                " ON CONFLICT DO NOTHING",
                (name, tenant),
            )
    return Grant(name, tenant, password)


def replicas(admin_dsn: Dsn, *, policy: Policy = NAMED) -> list[Machine]:
    """The machines that the warehouse knows. Raises WarehouseNotMigrated when it is none."""
    with _admin(admin_dsn, policy) as db:
        _revision(db)
        return machines.listed(db)


def revoke_replica(
    admin_dsn: Dsn, replica_id: bytes, *, undo: bool = False, policy: Policy = NAMED
) -> list[str]:
    """Close the doors to one replica and the later ids of its file, or open them again.

    Returns the ids that this shuts out or takes back: none when the hub does not know the replica,
    or nobody revoked it.
    """
    with _admin(admin_dsn, policy) as db:
        _revision(db)
        return machines.take_back(db, replica_id) if undo else machines.revoke(db, replica_id)


def status(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Status:
    """What the warehouse holds. Raises WarehouseNotMigrated when it is none."""
    with _admin(admin_dsn, policy) as db, db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        revision = _revision(db)
        hub = _one(
            db,
            "SELECT encode(id, 'hex'), protocol, schema"
            " FROM satchel.hub, satchel.tenant WHERE name = %s",
            TENANT,
        )
        return Status(
            hub_id=hub[0],
            server=_one(db, "SHOW server_version")[0],
            epochs=dict(db.execute("SELECT name, epoch FROM satchel.tenant ORDER BY number")),
            revision=revision,
            protocol=hub[1],
            schema=hub[2],
            rows={table.name: _count(db, table.name) for table in TABLES},
            conflicts=_one(db, "SELECT count(*) FROM satchel.conflict")[0],
            machines=machines.listed(db),
        )


def audit(
    admin_dsn: Dsn,
    provider: Provider,
    *,
    own: Mapping[tuple[str, str], Own] | None = None,
    policy: Policy = NAMED,
) -> list[Chain]:
    """What is found of the audit chains of all machines (`audit.looking`); nothing is written.

    `own` is (replica id, chain) -> what the caller's machine holds of it.
    """
    with _admin(admin_dsn, policy) as db:
        _revision(db)
        return look(db, provider, own)


@contextmanager
def _admin(dsn: Dsn, policy: Policy) -> Iterator[Connection]:
    db = connect(dsn, path=ADMIN_PATH, policy=policy)
    try:
        yield db
    except psycopg.Error as error:
        raise translate(error) from error
    except DBAPIError as error:
        if not isinstance(error.orig, psycopg.Error):
            raise
        raise translate(error.orig) from error
    finally:
        db.close()


def _prepare(db: Connection) -> None:
    """Roles and schemas; the database's temp tables are for the owner only."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATE_LOCK,))
        for role in (OWNER, REPLICAS):
            if not _exists(db, role):
                db.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
        _become_owner(db)
        database = sql.Identifier(db.info.dbname)
        for right in (
            "REVOKE TEMPORARY ON DATABASE {db} FROM PUBLIC",
            "GRANT TEMPORARY, CREATE ON DATABASE {db} TO {owner}",
            "CREATE SCHEMA IF NOT EXISTS satchel AUTHORIZATION {owner}",
        ):
            db.execute(sql.SQL(right).format(db=database, owner=sql.Identifier(OWNER)))


def _become_owner(db: Connection) -> None:
    """Let this login act as the owner; from PostgreSQL 16 on that is a grant of its own."""
    apart = db.info.server_version >= 160_000
    may = _one(db, "SELECT pg_has_role(%s, %s)", OWNER, "SET" if apart else "MEMBER")[0]
    if not may:
        grant = "GRANT {} TO CURRENT_USER" + (" WITH SET TRUE, INHERIT TRUE" if apart else "")
        db.execute(sql.SQL(grant).format(sql.Identifier(OWNER)))


def _migrate(db: Connection, name: Callable[[Connection], None]) -> None:
    """Alembic's steps, the functions and their version, as the owner, under one lock.

    In one transaction: a hub of new doors that said its old version would let nobody in.
    """
    with sqlalchemy(db) as wrapped:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATE_LOCK,))
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
        command.upgrade(alembic_config(wrapped), "head")
        for statement in functions.statements():
            db.execute(statement.encode())
        folding.fold(db)
        name(db)


def alembic_config(connection: SqlConnection) -> Config:
    """Alembic's settings for one connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _as_owner(db: Connection) -> Iterator[None]:
    """A transaction, or a part of one, as the owner: so that what it makes is the owner's."""
    with db.transaction():
        before = _one(db, "SELECT current_user")[0]
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
        yield
        db.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(before)))


def _register(db: Connection) -> None:
    """The hub's own row, made or brought to this version, and the default tenant."""
    db.execute(
        "INSERT INTO satchel.hub (protocol, schema) VALUES (%s, %s)"
        " ON CONFLICT (singleton) DO UPDATE"
        " SET protocol = excluded.protocol, schema = excluded.schema",
        (PROTOCOL, SCHEMA),
    )
    db.execute("SELECT satchel.add_tenant(%s)", (TENANT,))


def _upgrade(db: Connection) -> None:
    """The hub's own row brought to this version, if there is one."""
    db.execute("UPDATE satchel.hub SET protocol = %s, schema = %s", (PROTOCOL, SCHEMA))


def _keep_to_logins(db: Connection, name: str, tenant: str) -> None:
    known = db.execute("SELECT tenant FROM satchel.login WHERE role_name = %s", (name,)).fetchone()
    if known and known[0] != tenant:
        raise WarehouseRefused(f"the login {name!r} belongs to the tenant {known[0]!r}")
    # A superuser that has synced is in the table too; only what `grant` made is in the group.
    granted = db.execute(
        "SELECT FROM pg_auth_members WHERE roleid = %s::regrole AND member ="
        " (SELECT oid FROM pg_roles WHERE rolname = %s AND NOT rolsuper)",
        (REPLICAS, name),
    ).fetchone()
    if _exists(db, name) and granted is None:
        raise WarehouseRefused(
            f"the role {name!r} exists and is no replica's login", hint="choose another name"
        )


def _make_login(db: Connection, name: str, password: str) -> None:
    """The password leaves this process only as a SCRAM verifier, so no server log can show it."""
    verifier = db.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
    verb = "ALTER" if _exists(db, name) else "CREATE"
    role = sql.Identifier(name)
    db.execute(
        sql.SQL(verb + " ROLE {} LOGIN INHERIT NOCREATEDB NOCREATEROLE PASSWORD {}").format(
            role, sql.Literal(verifier.decode())
        )
    )
    db.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(REPLICAS), role))
    for setting, value in _LOGIN_LIMITS.items():
        db.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(
                role, sql.Identifier(setting), sql.Literal(value)
            )
        )


def _exists(db: Connection, role: str) -> bool:
    found = db.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    return found is not None


def _revision(db: Connection) -> str:
    """Alembic's revision of the hub's tables."""
    if _one(db, "SELECT to_regclass('satchel.alembic_version') IS NULL")[0]:
        raise WarehouseNotMigrated("this database holds no warehouse", hint=INIT_HINT)
    return str(_one(db, "SELECT version_num FROM satchel.alembic_version")[0])


def _count(db: Connection, kind: str) -> dict[str, int]:
    query = sql.SQL(
        "SELECT count(*) FILTER (WHERE (life >> 16) % 2 = 1 AND life < 9223372036854775807),"
        " count(*) FROM {}"
    )
    row = db.execute(query.format(sql.Identifier("satchel", kind))).fetchone() or (0, 0)
    return {"alive": row[0], "dead": row[1] - row[0]}


def _one(db: Connection, query: str, *parameters: Any) -> tuple[Any, ...]:
    row = db.execute(query.encode(), parameters or None).fetchone()
    if row is None:
        raise WarehouseNotMigrated("the warehouse was not initialised in full", hint=INIT_HINT)
    return row
