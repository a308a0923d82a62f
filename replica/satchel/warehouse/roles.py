"""Who may do what at the warehouse: logins, tenants, and the machines that may sync."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import replica_ids
from satchel.errors import ConfigInvalid, ConfirmationNeeded
from satchel.warehouse.dsns import admin_dsn
from satchel.warehouse.told import machine_told

if TYPE_CHECKING:
    from satchel.config import Settings


def grant(
    settings: Settings,
    name: str,
    *,
    kind: str = "replica",
    tenant: str = "default",
    search: bool = False,
    password_file: Path | None = None,
) -> dict[str, Any]:
    """Make a login of that kind. Its password is read from a file, or made up and told once."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import roles

    given = _password(password_file) if password_file else None
    made = roles.grant(
        dsn,
        name,
        kind=kind,
        tenant=tenant,
        search=search,
        password=given,
        policy=settings.network_policy(),
    )
    told = asdict(made)
    if given:
        del told["password"]
    return told


def add_tenant(settings: Settings, name: str) -> dict[str, Any]:
    """Make a tenant; one that is there stays as it is."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import tenants

    return asdict(tenants.add(dsn, name, policy=settings.network_policy()))


def tenants(settings: Settings) -> list[dict[str, Any]]:
    """The tenants that the warehouse has, with their logins."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import tenants

    return [asdict(one) for one in tenants.listed(dsn, policy=settings.network_policy())]


def replicas(settings: Settings) -> list[dict[str, Any]]:
    """The machines that the warehouse knows."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    found = admin.replicas(dsn, policy=settings.network_policy())
    return [machine_told(asdict(one)) for one in found]


def revoke(
    settings: Settings, given: str, *, undo: bool = False, confirm: bool = False
) -> dict[str, Any]:
    """Close the doors to the machine with this full or short id, or open them again.

    The answer is the machine, with `shut_out` (it and the later ids of its file; copies of the file
    are among them) and `still_open` (earlier ids of the file), or with `taken_back`. Raises
    ConfirmationNeeded, InvalidInput, AmbiguousId or NotFound.
    """
    dsn, policy = admin_dsn(settings), settings.network_policy()
    from satchel_warehouse import admin

    known = [one.replica_id for one in admin.replicas(dsn, policy=policy)]
    replica_id = replica_ids.only_one(given, known)
    if not undo and not confirm:
        raise ConfirmationNeeded(
            f"replica {replica_id} could sync no more, and this was not confirmed",
            hint="give --yes; `--undo` takes a revoked replica back",
            field="confirm",
        )
    ids = admin.revoke_replica(dsn, bytes.fromhex(replica_id), undo=undo, policy=policy)
    machines = {one["replica_id"]: one for one in replicas(settings)}
    machine = machines[replica_id]
    if undo:
        return machine | {"taken_back": ids}
    earlier = (machines.get(one) for one in machine["predecessors"])
    still_open = [one["replica_id"] for one in earlier if one and one["revoked_at"] is None]
    return machine | {"shut_out": ids, "still_open": still_open}


def _password(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"the password file {path} cannot be read: {error}", field="password_file"
        ) from error
    if not text:
        raise ConfigInvalid(f"the password file {path} is empty", field="password_file")
    return text
