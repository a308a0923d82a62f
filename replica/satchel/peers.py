"""Where a replica meets the warehouse: composes a sync (administration: `satchel.warehouse`).

Everything of the warehouse is imported inside the functions: a laptop that never syncs never loads
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.audit import beside
from satchel.audit.outbox import AuditOutbox
from satchel.protection import provider_of
from satchel.replica import DATABASE_FILE, open_store
from satchel.store import attempts
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.status import waiting
from satchel.syncing import around
from satchel.syncing.status import REPORTS_READ, lag, stuck
from satchel.warehouse.dsns import admin_dsn, is_named, replica_dsn, report_dsn
from satchel_sync.checkup import check
from satchel_sync.errors import SyncBusy, SyncError
from satchel_sync.progress import Progress, silent
from satchel_sync.session import sync

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_warehouse.depot import WarehouseDepot
    from satchel_warehouse.endpoint import WarehouseHub

LOCK_FILE = "sync.lock"
PATIENCE_S = 2.0
"""A turn of a machine that stays in touch is over in less, if nothing much moves."""


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
            with loud(store):
                report = sync(replica, hub, SYSTEM_CLOCK, progress)
            session.close()
            report["sessions"] = swept
            report["embedding"] = around.embed(store, settings, progress)
            return report | standing(store)


def standing(store: Store) -> dict[str, Any]:
    """What every report tells of this machine at its end: rows that wait, and since when."""
    with store.read() as db:
        found = waiting(db)
    return {"pending": sum(found.pending.values()), **lag(found, store.now_ms())}


@contextmanager
def loud(store: Store) -> Iterator[None]:
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
            with loud(store):
                return check(replica, hub, SYSTEM_CLOCK, repairing=repairing, progress=progress)


def audit_verify(settings: Settings) -> list[dict[str, Any]]:
    """What is found of the audit chains of all machines at the warehouse, and beside this one.

    Goes as its administrator, else as an auditor of a tenant. Raises ConfigInvalid without a DSN.
    """
    administers = is_named(settings, "admin_dsn")
    dsn = admin_dsn(settings) if administers else report_dsn(settings)
    from satchel_warehouse import admin
    from satchel_warehouse.audit.found import Own
    from satchel_warehouse.database import ADMIN_PATH, REPORT_PATH

    path = ADMIN_PATH if administers else REPORT_PATH

    provider, policy = provider_of(settings), settings.network_policy()
    with opened(settings) as store:
        own = {
            key: Own(last=one.last, sent=one.sent, link_at=one.link_at)
            for key, one in beside.own(store).items()
        }
        found = admin.audit(dsn, provider, own=own, path=path, policy=policy)
        return [asdict(one) for one in found]


def clock_offset_ms(settings: Settings) -> int:
    """This machine's clock minus the warehouse's, in ms; opens no attempt.

    Raises ConfigInvalid without a DSN, SyncError's family when the warehouse does not answer.
    """
    with hub_of(settings) as hub:
        asked_ms = SYSTEM_CLOCK.now_ms()
        theirs_ms = hub.now_ms()
        return (asked_ms + SYSTEM_CLOCK.now_ms()) // 2 - theirs_ms


def hub_of(settings: Settings) -> WarehouseHub:
    """The warehouse that the settings name; it connects when first used."""
    dsn = replica_dsn(settings)
    from satchel_warehouse.ahead import PagesAhead

    return PagesAhead(dsn, policy=settings.network_policy())


def depot_of(settings: Settings) -> WarehouseDepot:
    """The warehouse as bundles meet it: as its administrator if the settings name one."""
    administers = is_named(settings, "admin_dsn")
    dsn = admin_dsn(settings) if administers else replica_dsn(settings)
    from satchel_warehouse.depot import WarehouseDepot

    return WarehouseDepot(dsn, policy=settings.network_policy())


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
def one_sync(home: Path, *, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """One sync of a file at a time, by a lock that the kernel releases however we end.

    Raises SyncBusy when another has held it for `patience_s`.
    """
    import fasteners

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = (home / DATABASE_FILE).resolve().parent / LOCK_FILE  # where a symbolic link leads to
    path.touch(mode=0o600)
    lock = fasteners.InterProcessLock(path)
    if not lock.acquire(blocking=patience_s > 0, timeout=patience_s):
        lock.lockfile.close()
        raise SyncBusy("another sync of this replica is running", hint="wait for it to end")
    try:
        yield
    finally:
        lock.release()


def version() -> str:
    """The program's version, for the hub's records."""
    import satchel

    return satchel.__version__
