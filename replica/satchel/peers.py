"""The one place where a replica meets the warehouse: composes a sync, runs its administration.

Everything of the warehouse is imported inside the functions: a laptop that never syncs never loads
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import replica_ids
from satchel.audit import beside
from satchel.audit.outbox import AuditOutbox
from satchel.errors import ConfigInvalid, ConfirmationNeeded, EngineUnavailable
from satchel.memory.moments import iso
from satchel.protection import provider_of
from satchel.replica import DATABASE_FILE, open_store
from satchel.secret_store import PASSWORDS, has_secret, secret_of
from satchel.store import attempts
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.status import waiting
from satchel.syncing import around
from satchel.syncing.status import REPORTS_READ, lag, stuck
from satchel_sync.checkup import check
from satchel_sync.errors import SyncBusy, SyncError
from satchel_sync.progress import Progress, silent
from satchel_sync.session import sync

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.network import Target
    from satchel_warehouse.depot import WarehouseDepot
    from satchel_warehouse.endpoint import WarehouseHub
    from satchel_warehouse.login import Dsn

LOCK_FILE = "sync.lock"


def sync_once(
    settings: Settings, *, adopt: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Reconcile this replica with its warehouse once and return the report (`exit` in it).

    Sessions are swept before, so that their summaries travel. Then embed for a while what wants a
    vector; the vectors travel with the next sync.
    Raises ConfigInvalid without a DSN, SyncError and its family when the two may not talk.
    """
    with ExitStack() as session:
        hub = session.enter_context(hub_of(settings))
        session.enter_context(one_sync(settings.home))
        with opened(settings) as store:
            audit = AuditOutbox(store, settings)
            replica = SqliteReplica(store, adopt=adopt, version=version(), audit=audit)
            swept = around.sum_up(store, settings)
            with _loud(store):
                report = sync(replica, hub, SYSTEM_CLOCK, progress)
            session.close()
            report["sessions"] = swept
            report["embedding"] = around.embed(store, settings, progress)
            with store.read() as db:
                found = waiting(db)
        return report | {"pending": sum(found.pending.values())} | lag(found, store.now_ms())


@contextmanager
def _loud(store: Store) -> Iterator[None]:
    """A sync that stops says so more loudly on a machine that has not got on for a while."""
    try:
        yield
    except SyncError as error:
        with store.read() as db:
            trouble = stuck(attempts.reports(db, REPORTS_READ))
        if trouble:
            error.hint = f"{trouble.words()}; {error.hint}".rstrip("; ")
        raise


def sync_verify(
    settings: Settings, *, repairing: bool, progress: Progress = silent
) -> dict[str, Any]:
    """Read and compare every row of both sides; with `repairing` sync first and heal.

    Returns the report. Raises as `sync_once` does.
    """
    with ExitStack() as session:
        hub = session.enter_context(hub_of(settings))
        session.enter_context(one_sync(settings.home))
        with opened(settings) as store:
            audit = AuditOutbox(store, settings)
            replica = SqliteReplica(store, version=version(), audit=audit)
            with _loud(store):
                return check(replica, hub, SYSTEM_CLOCK, repairing=repairing, progress=progress)


def audit_verify(settings: Settings) -> list[dict[str, Any]]:
    """What is found of the audit chains of all machines at the warehouse, and beside this one.

    Raises ConfigInvalid without an administrator's DSN.
    """
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin
    from satchel_warehouse.audit.found import Own

    provider, policy = provider_of(settings), settings.network_policy()
    with opened(settings) as store:
        own = {
            key: Own(last=one.last, sent=one.sent, link_at=one.link_at)
            for key, one in beside.own(store).items()
        }
        return [asdict(one) for one in admin.audit(dsn, provider, own=own, policy=policy)]


def clock_offset_ms(settings: Settings) -> int:
    """This machine's clock minus the warehouse's, in ms; opens no attempt.

    Raises ConfigInvalid without a DSN, SyncError's family when the warehouse does not answer.
    """
    with hub_of(settings) as hub:
        asked_ms = SYSTEM_CLOCK.now_ms()
        theirs_ms = hub.now_ms()
        return (asked_ms + SYSTEM_CLOCK.now_ms()) // 2 - theirs_ms


def warehouse_init(settings: Settings) -> dict[str, Any]:
    """Make roles, schemas and functions in the database that the admin DSN names."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return _status(admin.init(dsn, policy=settings.network_policy()))


def warehouse_migrate(settings: Settings) -> dict[str, Any]:
    """Bring the warehouse to this version."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return _status(admin.migrate(dsn, policy=settings.network_policy()))


def warehouse_status(settings: Settings) -> dict[str, Any]:
    """The warehouse's version, rows by kind and machines."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return _status(admin.status(dsn, policy=settings.network_policy()))


def warehouse_grant(
    settings: Settings, name: str, *, password_file: Path | None = None
) -> dict[str, Any]:
    """Make a login for replicas. Its password is read from a file, or made up and told once."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    given = _password(password_file) if password_file else None
    policy = settings.network_policy()
    grant = admin.grant_replica(dsn, name, password=given, policy=policy)
    told = {} if given else {"password": grant.password}
    return {"login": grant.login, "tenant": grant.tenant, **told}


def warehouse_replicas(settings: Settings) -> list[dict[str, Any]]:
    """The machines that the warehouse knows."""
    dsn = admin_dsn(settings)
    from satchel_warehouse import admin

    return [_machine(asdict(one)) for one in admin.replicas(dsn, policy=settings.network_policy())]


def warehouse_revoke(
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
    machines = {one["replica_id"]: one for one in warehouse_replicas(settings)}
    machine = machines[replica_id]
    if undo:
        return machine | {"taken_back": ids}
    earlier = (machines.get(one) for one in machine["predecessors"])
    still_open = [one["replica_id"] for one in earlier if one and one["revoked_at"] is None]
    return machine | {"shut_out": ids, "still_open": still_open}


def warehouse_serve_embedded(
    settings: Settings,
    folder: Path,
    *,
    on_ready: Callable[[dict[str, Any]], None],
    port: int | None = None,
) -> int:
    """Serve a Postgres of our own in the foreground; `on_ready` gets {dsn, pid, data_dir}.

    Raises FipsRefused, NetworkRefused, EmbeddedFailed.
    """
    settings.require_built()
    _need_warehouse()
    from satchel_warehouse.serve_embedded import serve

    policy = settings.network_policy()
    return int(serve(folder, lambda made: on_ready(asdict(made)), port=port, policy=policy))


@contextmanager
def embedded_warehouse(settings: Settings, folder: Path) -> Iterator[str]:
    """A Postgres of our own while the body runs; yields its administrator's DSN."""
    settings.require_built()
    _need_warehouse()
    from satchel_warehouse.serve_embedded import running

    with running(folder, policy=settings.network_policy()) as (served, _):
        yield str(served.dsn)


def target_of(dsn: str) -> Target:
    """Where a DSN leads; nothing is opened.

    Raises EngineUnavailable without the warehouse part, SyncError's family for a bad DSN.
    """
    _need_warehouse()
    from satchel_warehouse import dsn as dsns

    return dsns.read(dsn)[1]


def hub_of(settings: Settings) -> WarehouseHub:
    """The warehouse that the settings name; it connects when first used."""
    dsn = _replica_dsn(settings)
    from satchel_warehouse.ahead import PagesAhead

    return PagesAhead(dsn, policy=settings.network_policy())


def depot_of(settings: Settings) -> WarehouseDepot:
    """The warehouse as bundles meet it: as its administrator if the settings name one."""
    administers = is_named(settings, "admin_dsn")
    dsn = admin_dsn(settings) if administers else _replica_dsn(settings)
    from satchel_warehouse.depot import WarehouseDepot

    return WarehouseDepot(dsn, policy=settings.network_policy())


def is_named(settings: Settings, key: str = "dsn") -> bool:
    """Whether the settings or a secret have that DSN; no passphrase is asked for."""
    said = settings.warehouse_admin_dsn if key == "admin_dsn" else settings.warehouse_dsn
    return bool(said) or has_secret(settings, f"warehouse.{key}")


def admin_dsn(settings: Settings) -> Dsn:
    """The DSN of the warehouse's owner. Raises ConfigInvalid when none is named."""
    given = settings.warehouse_admin_dsn
    return _named(settings, given, "admin_dsn", "no administrator's DSN is configured")


def _replica_dsn(settings: Settings) -> Dsn:
    return _named(settings, settings.warehouse_dsn, "dsn", "no warehouse is configured")


def _named(settings: Settings, dsn: str | None, key: str, missing: str) -> Dsn:
    """A DSN that was given, once it is known that it can be used: before any import or socket.

    The settings' own with its password as a secret, or one that is a secret as a whole.
    """
    settings.require_built()
    if not dsn and not is_named(settings, key):
        raise ConfigInvalid(
            missing,
            hint=f"name it: SATCHEL_WAREHOUSE_{key.upper()}, or `{key}` in [warehouse], or"
            f" `satchel secret set warehouse.{key}`",
            field=f"warehouse.{key}",
        )
    _need_warehouse()
    from satchel_warehouse.dsn import parted
    from satchel_warehouse.login import Login

    if dsn:
        return Login(dsn, secret_of(settings, PASSWORDS[key]))
    return parted(secret_of(settings, f"warehouse.{key}")() or "")


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    """This replica's store, closed afterwards."""
    settings.require_built()
    store = open_store(settings)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def one_sync(home: Path) -> Iterator[None]:
    """One sync of a file at a time, by a lock that the kernel releases however we end.

    Raises SyncBusy.
    """
    import fasteners

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = (home / DATABASE_FILE).resolve().parent / LOCK_FILE  # where a symbolic link leads to
    path.touch(mode=0o600)
    lock = fasteners.InterProcessLock(path)
    if not lock.acquire(blocking=False):
        raise SyncBusy("another sync of this replica is running", hint="wait for it to end")
    try:
        yield
    finally:
        lock.release()


def version() -> str:
    """The program's version, for the hub's records."""
    import satchel

    return satchel.__version__


def _status(status: Any) -> dict[str, Any]:
    found = asdict(status)
    return found | {"machines": [_machine(one) for one in found["machines"]]}


def _machine(found: dict[str, Any]) -> dict[str, Any]:
    times = ("first_seen", "last_seen", "revoked_at")
    return found | {name: iso(found[name]) for name in times if found[name] is not None}


def _password(path: Path) -> str:
    try:
        text = path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(
            f"the password file {path} cannot be read: {error}", field="password_file"
        ) from error
    if not text:
        raise ConfigInvalid(f"the password file {path} is empty", field="password_file")
    return text


def _need_warehouse() -> None:
    """Raise EngineUnavailable with the advice when the warehouse extra is not installed."""
    try:
        import satchel_warehouse.endpoint  # noqa: F401

        # Only looked for: a sync has no use for what takes a third of a second to import.
        missing = next((name for name in ("sqlalchemy", "alembic") if find_spec(name) is None), "")
    except ImportError as error:
        missing = str(error.name)
    if missing:
        raise EngineUnavailable(
            f"the warehouse part is not installed: {missing} is missing",
            hint="pip install 'satchel[warehouse]'",
        )
