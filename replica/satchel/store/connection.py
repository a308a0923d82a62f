"""The replica's database file: open it, read a snapshot, write one durable transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

import apsw

from satchel.errors import SatchelError, StoreBusy, StoreNewer, StoreUnusable
from satchel.store import current, database_file, fingerprint, flushing, identity, limit, touched
from satchel_crypto import random_bytes

if TYPE_CHECKING:
    from satchel.store.touched import Auditor
    from satchel_sync.ports import Clock

BUSY_TIMEOUT_MS = 30_000
BUSY_SLEEP_MS_MAX = 8
"""A waiting writer sleeps a random part of this between two tries."""
CACHE_KIB = 16 * 1024

Durability = Literal["full", "process"]


class SystemClock:
    """The wall clock of this machine."""

    def now_ms(self) -> int:
        """UTC milliseconds."""
        return time.time_ns() // 1_000_000


SYSTEM_CLOCK = SystemClock()


class Store:
    """One replica's file, shared by the threads of this process and by other processes.

    Every thread has a connection of its own. A write is durable when its `with` block has ended.
    """

    def __init__(
        self, path: Path, durability: Durability, busy_timeout_ms: int, clock: Clock
    ) -> None:
        """Use `Store.open`."""
        self.path = path
        self.home = path.parent
        self.replica_id = b""
        self._place = (0, 0)
        self._schema = 0
        self._restored: str | None = None
        self._durability = durability
        self._busy_timeout_ms = busy_timeout_ms
        self._clock = clock
        self._auditor: Auditor | None = None
        self._local = threading.local()
        # A thread that ends lets go of its own, which closes it.
        self._connections: WeakSet[apsw.Connection] = WeakSet()
        self._lock = threading.Lock()

    @staticmethod
    def open(
        path: Path,
        *,
        durability: Durability = "full",
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        clock: Clock = SYSTEM_CLOCK,
        auditor: Auditor | None = None,
    ) -> Store:
        """Open or make the file, in WAL mode and in this program's schema.

        `full` survives a power cut, `process` a crash of the process only; `auditor` keeps a record
        of every write. Raises StoreUnusable (no
        folder, no database, no WAL), StoreNewer, StoreBusy; a refused file stays as it was.
        """
        store = Store(path, durability, busy_timeout_ms, clock)
        store._auditor = auditor
        try:
            store._place = database_file.make(path)
            store._recognise(store._db())
            store._restored = identity.restored(store._db())
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close every connection; the store is of no use afterwards."""
        with self._lock:
            for db in list(self._connections):
                db.close()
            self._connections.clear()
        self._local = threading.local()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now_ms(self) -> int:
        """UTC milliseconds of the store's clock."""
        return self._clock.now_ms()

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """One consistent snapshot; a write to it fails. Inside a `write` it is that transaction."""
        db = self._db()
        if _in_transaction(db):
            yield db
            return
        with _translated(self.path):
            self._require_same_file()
            self._until_free(db, "BEGIN")
            try:
                identity.require_same(db, self.path, self._restored)
                yield db
                if db.txn_state() == apsw.SQLITE_TXN_WRITE:
                    raise RuntimeError("a write inside a read transaction: nothing of it is kept")
            finally:
                if _in_transaction(db):
                    db.execute("ROLLBACK")

    @contextmanager
    def write(self, actor: str | None = None) -> Iterator[apsw.Connection]:
        """One transaction: sealed, committed and durable at the end, or rolled back on an error.

        It begins with sealing what was written by hand, so that the body finds nothing unsealed.
        Where no row was touched there is nothing to commit, and the disk is not waited for.
        `actor` goes into the history of what changes. Raises StoreBusy when another process writes
        for longer than the busy timeout, StoreUnusable when the disk fails, RuntimeError when this
        thread is in a transaction already.
        """
        from satchel.store import seal  # it reads every kind; who only reads needs none of it

        db, rehearsed = self._db(), self._rehearsed
        if _in_transaction(db) and not rehearsed:
            raise RuntimeError("a write inside another transaction of this thread")
        with _translated(self.path), touched.noting() as notes:
            if not _in_transaction(db):
                self._until_free(db, "BEGIN IMMEDIATE")
            if rehearsed:
                db.execute("SAVEPOINT rehearsed")
            try:
                self._still_ours(db)
                db.execute(
                    "UPDATE control SET actor = ?, wall_ms = ?", (actor, self._clock.now_ms())
                )
                untouched = db.total_changes()
                seal.seal(db, self._clock.now_ms())
                by_hand = notes.taken()
                yield db
                seal.seal(db, self._clock.now_ms())
                if rehearsed or (db.total_changes() == untouched and notes.told is None):
                    return
                if self._auditor is not None:
                    self._auditor.append(db, self._clock.now_ms(), actor, by_hand, notes)
                db.execute("UPDATE control SET actor = NULL, wall_ms = NULL, applying = 0")
                self._require_same_file()
                with limit.committing():
                    self._until_free(db, "COMMIT")
            except BaseException:
                if _in_transaction(db) and rehearsed:
                    db.execute("ROLLBACK TO rehearsed")
                raise
            finally:
                if _in_transaction(db) and not rehearsed:
                    db.execute("ROLLBACK")

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """What this thread writes in the body it can read there, and nothing of it is kept.

        Other writers wait meanwhile. Not inside a transaction.
        """
        db = self._db()
        self._local.rehearsed = True
        try:
            yield
        finally:
            self._local.rehearsed = False
            if _in_transaction(db):
                db.execute("ROLLBACK")

    @property
    def _rehearsed(self) -> bool:
        return getattr(self._local, "rehearsed", False)

    def seal(self) -> None:
        """Seal what was written by hand, if there is anything; a reader needs it for history."""
        from satchel.store import seal

        with self.read() as db:
            waits = seal.waits(db)
        if waits and not _in_transaction(db):
            with self.write():
                pass

    def compact(self) -> None:
        """Write the whole file anew, without what lies between its rows. Not in a transaction.

        Raises StoreBusy where another process writes for longer than the busy timeout.
        """
        with _translated(self.path):
            self._until_free(self._db(), "VACUUM")

    def cut_log(self) -> None:
        """Move what the write-ahead log holds into the file, and leave the log empty.

        Raises StoreBusy where a reader of another process needs the log for longer than the busy
        timeout. Not inside a transaction.
        """
        db, deadline = self._db(), self._deadline()
        while True:
            with _translated(self.path):
                ((busy, _, _),) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy:
                return
            # Another checkpoint, as any commit may begin one, is BUSY without asking the handler.
            if time.monotonic() > deadline:
                raise _busy(self.path)
            time.sleep(_jitter_s())

    def _db(self) -> apsw.Connection:
        """This thread's connection, opened and prepared on first use."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            with _translated(self.path):
                db = self._connect()
            self._local.db = db
        if (limited := limit.CURRENT.get()) is not None:
            limited.uses(db)
        return db

    def _still_ours(self, db: apsw.Connection) -> None:
        """Raise StoreNewer when a newer program has migrated the file since it was opened here.

        StoreUnusable when another file has taken its place, or a backup that of its content.
        """
        self._require_same_file()
        identity.require_same(db, self.path, self._restored)
        if db.execute("PRAGMA user_version").get != self._schema:
            raise StoreNewer(
                f"{self.path} was migrated by a newer satchel while this program had it open",
                hint="upgrade satchel in this program and start it again",
            )

    def _require_same_file(self) -> None:
        """Raise StoreUnusable when the path leads to another file than the one that is open here.

        SQLite would go on in the file that was moved or deleted, and what it writes would be lost.
        """
        try:
            found = self.path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._place:
            raise StoreUnusable(
                f"{self.path} was replaced, moved or deleted while this program had it open",
                hint="start this program again; nothing was written into the old file just now",
            )

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        with self._lock:
            self._connections.add(db)
        db.set_busy_handler(self._wait)
        # Plans do not depend on the values bound, so no statement is compiled again for new ones.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._prepare(db)
        self._schema = db.execute("PRAGMA user_version").get
        return db

    def _prepare(self, db: apsw.Connection) -> None:
        """Check, then switch to WAL, then migrate: a file that is refused is not written."""
        deadline = self._deadline()
        while True:
            try:
                if current.is_current(db):
                    self._settle(db)
                else:
                    from satchel.store import migrate  # it reads every kind, its triggers, the SQL

                    migrate.check(db, self.path)
                    self._settle(db)
                    migrate.migrate(db, self.path)
                return
            except apsw.BusyError as error:
                # Switching to WAL and recovering it report BUSY without asking the handler.
                if time.monotonic() > deadline:
                    raise _busy(self.path) from error
                time.sleep(_jitter_s())

    def _recognise(self, db: apsw.Connection) -> None:
        """Learn the file's id; a copy of another file takes an id of its own before it writes."""
        with _translated(self.path):
            self.replica_id, kept = identity.known(db)
            mine = fingerprint.of(self.path)
            if kept is not None and mine in kept.split():
                return
            from satchel.store import succession  # next to no command needs it

            self._until_free(db, "BEGIN IMMEDIATE")
            try:
                succession.recognise(db, mine)
                self.replica_id = identity.load(db)
                self._until_free(db, "COMMIT")
            finally:
                if _in_transaction(db):
                    db.execute("ROLLBACK")

    def _settle(self, db: apsw.Connection) -> None:
        database_file.use_wal(db, self.path)
        for pragma in (
            *flushing.pragmas(self._durability),
            f"cache_size = -{CACHE_KIB}",
            "temp_store = MEMORY",
            "recursive_triggers = 0",
            "secure_delete = ON",
        ):
            db.execute(f"PRAGMA {pragma}")

    def _deadline(self) -> float:
        return time.monotonic() + self._busy_timeout_ms / 1000

    def _wait(self, tries: int) -> bool:
        """SQLite's busy handler: sleep a little, give up at the timeout."""
        if tries == 0:
            self._local.deadline = self._deadline()
        limited = limit.CURRENT.get()
        if time.monotonic() > self._local.deadline or (limited and limited.stopped):
            return False
        time.sleep(_jitter_s())
        return True

    def _until_free(self, db: apsw.Connection, statement: str) -> None:
        """Run BEGIN or COMMIT; what is BUSY without having asked the handler is tried again."""
        deadline = self._deadline()
        while True:
            try:
                db.execute(statement)
                return
            except apsw.BusyError as error:
                limit.check()
                if time.monotonic() > deadline:
                    raise _busy(self.path) from error
                time.sleep(_jitter_s())


def _in_transaction(db: apsw.Connection) -> bool:
    return db.in_transaction


def _jitter_s() -> float:
    return (random_bytes(1)[0] + 1) / 256 * BUSY_SLEEP_MS_MAX / 1000


def _busy(path: Path) -> StoreBusy:
    return StoreBusy(
        f"another process has been writing to {path} for too long",
        hint="try again; `satchel doctor` shows who holds the file",
    )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors about the file as ours; errors about a statement pass unchanged."""
    try:
        yield
    except SatchelError:
        raise
    except apsw.NotADBError as error:
        raise StoreUnusable(
            f"{path} is not a SQLite database, or is damaged at its beginning",
            hint="`satchel backup --list` shows what `satchel restore` can put in its place",
        ) from error
    except apsw.BusyError as error:
        raise _busy(path) from error
    except (
        apsw.CantOpenError,
        apsw.CorruptError,
        apsw.FullError,
        apsw.IOError,
        apsw.PermissionsError,
        apsw.ReadOnlyError,
    ) as error:
        raise StoreUnusable(
            f"the replica {path} cannot be used: {error}",
            hint="check the disk's space, the file's owner and mode; `satchel doctor` tells more",
        ) from error
