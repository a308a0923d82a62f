"""Tenants of a warehouse: organisations that share it and never see a row of each other."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection, retried
from satchel_warehouse.errors import TenantInvalid, TenantUnknown
from satchel_warehouse.hostile import reason_unfit_text
from satchel_warehouse.login import Dsn
from satchel_warehouse.sessions import administered, as_owner, revision

NAME_BYTES_MAX = 63
MADE_UP = "seeded"
"""What `satchel warehouse seed` makes is a tenant whose name begins so; no other may."""
_LISTED = """
SELECT t.name, encode(t.id, 'hex'), t.epoch,
    (SELECT count(*) FROM satchel.replica r WHERE r.tenant = t.name),
    coalesce((SELECT jsonb_object_agg(l.role_name, l.kind) FROM satchel.login l
        WHERE l.tenant = t.name AND octet_length(l.role_name) <= 63), '{}')
FROM satchel.tenant t ORDER BY t.number
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An organisation. Its machines know it by `hub_id`, 32 hex digits; `logins`: name -> kind."""

    name: str
    hub_id: str
    epoch: str
    machines: int
    logins: dict[str, str]


def add(admin_dsn: Dsn, name: str, *, policy: Policy = NAMED) -> Tenant:
    """Make a tenant; one that is there stays as it is.

    Raises TenantInvalid, also for a name that is kept for made-up ones.
    """
    if not fits(name, NAME_BYTES_MAX) or name != name.strip() or not name.isprintable():
        raise TenantInvalid(
            f"{name[:80]!r} cannot be a tenant",
            hint=f"a name has 1 to {NAME_BYTES_MAX} bytes that can be seen, no blank at its ends",
        )
    if is_made_up(name):
        raise TenantInvalid(
            f"{name!r} cannot be a tenant: what begins with {MADE_UP!r} is made up, and no report"
            " counts it",
            hint="choose another name; `satchel warehouse seed --tenant NAME` makes one up",
        )
    with administered(admin_dsn, policy) as db:
        revision(db)
        retried(lambda: _add(db, name))
        return next(one for one in _listed(db) if one.name == name)


def listed(admin_dsn: Dsn, *, policy: Policy = NAMED) -> list[Tenant]:
    """All of them, in the order in which they were made."""
    with administered(admin_dsn, policy) as db:
        revision(db)
        return _listed(db)


def require(db: Connection, name: str) -> None:
    """Raise TenantUnknown where the warehouse has no such tenant."""
    if (
        not fits(name, NAME_BYTES_MAX)
        or not db.execute("SELECT FROM satchel.tenant WHERE name = %s", (name,)).fetchall()
    ):
        raise TenantUnknown(
            f"the warehouse has no tenant {name[:80]!r}",
            hint="`satchel warehouse tenant list` names them, `satchel warehouse tenant add NAME`"
            " makes one",
        )


def is_made_up(name: str) -> bool:
    """Whether nothing of a tenant is real: reports and checks leave it out."""
    return name.startswith(MADE_UP)


def fits(name: str, bytes_max: int) -> bool:
    """Whether a name can be kept by Postgres, whole."""
    return not reason_unfit_text(name) and 1 <= len(name.encode()) <= bytes_max


def _add(db: Connection, name: str) -> None:
    with as_owner(db):
        db.execute("SELECT satchel.add_tenant(%s)", (name,))


def _listed(db: Connection) -> list[Tenant]:
    return [
        Tenant(name=name, hub_id=hub_id, epoch=epoch, machines=machines, logins=logins)
        for name, hub_id, epoch, machines, logins in db.execute(_LISTED.encode())
    ]
