"""Logins of a warehouse: replicas that sync, reporters that read views, auditors that read audit.

Each is in one group without login, which has the rights, and belongs to one tenant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from psycopg import sql

from satchel_crypto import random_bytes
from satchel_crypto.network import Policy
from satchel_warehouse import tenants
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.errors import LoginInvalid, WarehouseRefused
from satchel_warehouse.functions import AUDITORS, REPLICAS, REPORTERS, SEARCHERS, TENANT
from satchel_warehouse.login import Dsn
from satchel_warehouse.sessions import administered, as_owner, revision

REPLICA, REPORTER, AUDITOR = "replica", "reporter", "auditor"
GROUPS: Mapping[str, str] = {REPLICA: REPLICAS, REPORTER: REPORTERS, AUDITOR: AUDITORS}
"""Kind of a login -> the group that it is put into."""
NAME_BYTES_MAX = 63
"""Postgres cuts a longer name off, and the login under the full one is refused."""

_READING = {
    "lock_timeout": "10s",
    "statement_timeout": "120s",
    "idle_in_transaction_session_timeout": "300s",
}
LIMITS: Mapping[str, Mapping[str, str]] = {
    REPLICA: _READING | {"idle_in_transaction_session_timeout": "30s"},
    REPORTER: _READING,
    AUDITOR: _READING,
}
"""Kind of a login -> settings of its sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A login. The password is told once and stored nowhere; `search`: it may search all rows."""

    login: str
    kind: str
    tenant: str
    search: bool = False
    password: str = field(repr=False)


def grant(
    admin_dsn: Dsn,
    name: str,
    *,
    kind: str = REPLICA,
    tenant: str = TENANT,
    search: bool = False,
    password: str | None = None,
    policy: Policy = NAMED,
) -> Grant:
    """Make the login `name` of that kind for `tenant`, or give it a new password.

    A password is made up when none is given; `search` is taken away again where it is not said.
    Raises LoginInvalid, TenantUnknown, or WarehouseRefused when the role exists and is no such
    login, or belongs to another tenant.
    """
    _require_name(name)
    if search and kind != REPORTER:
        raise LoginInvalid(f"{kind} and search do not go together", hint="it is for a reporter")
    password = password or random_bytes(24).hex()
    with administered(admin_dsn, policy) as db, db.transaction():
        revision(db)
        tenants.require(db, tenant)
        _keep_to_logins(db, name, kind, tenant)
        _make_login(db, name, password)
        _put_into(db, name, kind, search=search)
        with as_owner(db):
            db.execute(
                "INSERT INTO satchel.login (role_name, tenant, granted_at, kind)"
                " VALUES (%s, %s, satchel.now_ms(), %s) ON CONFLICT DO NOTHING",
                (name, tenant, kind),
            )
    return Grant(login=name, kind=kind, tenant=tenant, search=search, password=password)


def _require_name(name: str) -> None:
    """Raise LoginInvalid for what Postgres takes for no role's name, or for one of its own."""
    if not tenants.fits(name, NAME_BYTES_MAX):
        raise LoginInvalid(
            f"{name[:80]!r} cannot be a login", hint=f"a name has 1 to {NAME_BYTES_MAX} bytes"
        )
    if name in ("public", "none") or name.startswith("pg_"):
        raise LoginInvalid(f"{name!r} is a name of Postgres' own", hint="choose another name")


def _keep_to_logins(db: Connection, name: str, kind: str, tenant: str) -> None:
    """Raise WarehouseRefused for a role that is none of this kind and tenant."""
    known = db.execute(
        "SELECT tenant, kind FROM satchel.login WHERE role_name = %s", (name,)
    ).fetchone()
    if known and known[0] != tenant:
        raise WarehouseRefused(
            f"the login {name!r} belongs to the tenant {known[0]!r}", hint="choose another name"
        )
    if known and known[1] != kind:
        raise WarehouseRefused(f"the login {name!r} is a {known[1]}'s", hint="choose another name")
    # A superuser that has synced is in the table too; only what `grant` made is in the group.
    granted = db.execute(
        "SELECT FROM pg_auth_members WHERE roleid = %s::regrole AND member ="
        " (SELECT oid FROM pg_roles WHERE rolname = %s AND NOT rolsuper)",
        (GROUPS[kind], name),
    ).fetchone()
    if _exists(db, name) and granted is None:
        raise WarehouseRefused(
            f"the role {name!r} exists and is no {kind}'s login", hint="choose another name"
        )


def _make_login(db: Connection, name: str, password: str) -> None:
    """The password leaves this process only as a SCRAM verifier, so no server log can show it."""
    verifier = db.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
    # Of a role that is there nothing else is said: an administrator who may not make databases may
    # not say either that somebody else may not.
    made = "CREATE ROLE {} LOGIN INHERIT NOCREATEDB NOCREATEROLE PASSWORD {}"
    statement = "ALTER ROLE {} LOGIN PASSWORD {}" if _exists(db, name) else made
    db.execute(sql.SQL(statement).format(sql.Identifier(name), sql.Literal(verifier.decode())))


def _put_into(db: Connection, name: str, kind: str, *, search: bool) -> None:
    """The groups that have the rights, and the limits of its sessions."""
    role = sql.Identifier(name)
    into = "GRANT {} TO {}"
    db.execute(sql.SQL(into).format(sql.Identifier(GROUPS[kind]), role))
    if search:
        db.execute(sql.SQL(into).format(sql.Identifier(SEARCHERS), role))
    elif _is_in(db, name, SEARCHERS):
        db.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(SEARCHERS), role))
    for setting, value in LIMITS[kind].items():
        db.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(
                role, sql.Identifier(setting), sql.Literal(value)
            )
        )


def _is_in(db: Connection, name: str, group: str) -> bool:
    return bool(db.execute("SELECT pg_has_role(%s, %s, 'MEMBER')", (name, group)).fetchall()[0][0])


def _exists(db: Connection, role: str) -> bool:
    found = db.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    return found is not None
