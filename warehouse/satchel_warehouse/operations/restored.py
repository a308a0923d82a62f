"""`mark-restored`: what a warehouse needs once it was restored from a backup.

Machines that know more than the hub find a restore by themselves (docs/SYNC.md, "Identity"); this
makes it certain for all of them, and puts back what a dump does not hold.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from satchel_crypto.network import Policy
from satchel_warehouse import admin, machines
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.functions import OWNER
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations import record
from satchel_warehouse.operations.contents import reached
from satchel_warehouse.sessions import administered, as_owner, one, revision
from satchel_warehouse.tenants import MADE_UP

_WITHOUT_ROLE = """
SELECT l.role_name FROM satchel.login l
WHERE octet_length(l.role_name) < 64 AND NOT starts_with(l.tenant, %s)
    AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = l.role_name) ORDER BY 1
"""
# A stand-in for machines that only bundles tell of has a longer name than a role can have.


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was found and done.

    `epochs` is tenant -> its new time; `reaches_at` the newest moment (UTC ms) that the backup
    knows. `logins_missing` stand in the warehouse and not in this cluster. `revoked` machines were
    revoked when the backup was made: later revocations are gone.
    """

    epochs: dict[str, str]
    reaches_at: int | None
    machines: int
    revoked: list[str]
    logins_missing: list[str]


def mark(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Restored:
    """Put rights, functions and version right, and begin a new epoch in every tenant.

    From the next sync on each machine compares all rows and refills the hub. Raises
    WarehouseRefused where the restore left the owner out, and WarehouseError's family.
    """
    _require_owner(admin_dsn, policy)
    admin.init(admin_dsn, policy=policy)
    with administered(admin_dsn, policy) as db, db.transaction():
        known = machines.listed(db)
        found = Restored(
            reaches_at=reached(db),
            machines=len(known),
            revoked=[one.replica_id for one in known if one.revoked_at is not None],
            logins_missing=[name for (name,) in db.execute(_WITHOUT_ROLE.encode(), (MADE_UP,))],
            epochs=_new_epochs(db),
        )
        record.note(db, "restored", _noted(found))
    return found


def _require_owner(admin_dsn: Dsn, policy: Policy) -> None:
    with administered(admin_dsn, policy) as db:
        revision(db)
        query = "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'satchel'"
        owner = one(db, query)[0]
    if owner != OWNER:
        raise WarehouseRefused(
            f"what was restored belongs to {owner}, not to {OWNER}",
            hint="drop the database and run pg_restore again, without --no-owner",
        )


def _new_epochs(db: Connection) -> dict[str, str]:
    with as_owner(db):
        return dict(db.execute("SELECT * FROM satchel.mark_restored()").fetchall())


def _noted(found: Restored) -> dict[str, object]:
    counted = ("revoked", "logins_missing")
    return asdict(found) | {name: len(getattr(found, name)) for name in counted}
