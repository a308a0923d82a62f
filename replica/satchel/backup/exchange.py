"""The draft in the place of the present replica, in one transaction of that very file.

SQLite's backup API writes it over the open database as a transaction like any other: readers see
the old content or the new, kill -9 and a full disk leave the old, and neither a log nor a program
that has the file open is ever beside another file than its own (https://sqlite.org/backup.html).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from satchel import __version__
from satchel.backup import making, manifest
from satchel.backup.manifest import Manifest
from satchel.backup.present import Present, busy, look, reading
from satchel.memory.moments import iso
from satchel.replica import DATABASE_FILE
from satchel.store import copying, identity, stray
from satchel.store.backups import BACKUPS, BEFORE
from satchel.store.connection import BUSY_TIMEOUT_MS, SYSTEM_CLOCK
from satchel.store.database_file import make as make_file
from satchel.store.database_file import use_wal
from satchel_crypto.file_system import HERE, flush_file

TAILS = ("-wal", "-shm")


def exchange(
    home: Path, present: Present, draft: Path, last: Callable[[apsw.Connection], None]
) -> Path | None:
    """Put the draft in place; the backup of what was there, None where there was nothing.

    `last` is given the present file when nobody can write to it any more, and may change the draft.
    Raises StoreBusy, StoreUnusable.
    """
    if present.state == "damaged":
        return _replaced(home, present, draft)
    kept: list[Path] = []
    try:
        stray.keep_aside(present.path)
        make_file(present.path)
        with closing(_connected(present.path)) as target, closing(_connected(draft)) as source:
            _write(home, present.path, target, source, last, kept)
    except BaseException as error:
        if not is_placed(present.path, draft):
            for copy in kept:  # nothing came in the place of what it is a copy of
                shutil.rmtree(copy)
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            raise busy(present.path) from error
        if isinstance(error, apsw.Error):
            raise making.cannot(home, error) from error
        raise
    return kept[0] if kept else None


def is_placed(path: Path, draft: Path) -> bool:
    """Whether the file is what the draft is; True also in doubt: what was kept stays then.

    Ctrl-C may come behind the commit, when SQLite still moves the log into the file.
    """
    try:
        with closing(_connected(path)) as placed, closing(_connected(draft)) as made:
            if not _has_tables(placed):
                return False
            return identity.restored(placed) == identity.restored(made)
    except apsw.NotADBError:
        return False  # damaged, as it was
    except apsw.Error:
        return True


def _connected(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    return db


def _write(
    home: Path,
    path: Path,
    target: apsw.Connection,
    source: apsw.Connection,
    last: Callable[[apsw.Connection], None],
    kept: list[Path],
) -> None:
    """The transaction, up to its commit."""
    target.execute("PRAGMA synchronous = FULL")
    use_wal(target, path)  # so that others can be read beside our lock
    with target.backup("main", source, "main") as backup:
        backup.step(1)  # from here on the write lock is ours, and the draft may change still
        with reading(path) as there:
            # Also where nothing was found before: another program may have begun meanwhile.
            if _has_tables(there):
                kept.append(_kept(home, there))
                last(there)
        while not backup.done:
            backup.step(copying.STEP_PAGES)


def _kept(home: Path, there: apsw.Connection) -> Path:
    """A backup of the present replica, whatever state its pages are in."""
    path, _ = making.write(home, there, home / BACKUPS, reason=BEFORE, damaged_too=True)
    return path


def _has_tables(db: apsw.Connection) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get)


def _replaced(home: Path, present: Present, draft: Path) -> Path:
    """A whole file in the place of one that SQLite cannot open: that has no use, and no writer.

    The log goes first, for it is none of the new file's; both are copied before. Until the last
    step the damaged file lies there, and no program begins a new replica in its place.
    """
    logs = [present.path.with_name(present.path.name + tail) for tail in TAILS]
    names = [DATABASE_FILE] + [f"{DATABASE_FILE}-wal"] * logs[0].exists()
    whole = draft.with_name("whole.db")
    kept = _put_aside(home, present, names)
    try:
        with reading(draft) as source:
            copying.copy(source, whole)
        if look(present.path).state != "damaged":
            raise busy(present.path)
        for log in logs:
            log.unlink(missing_ok=True)
        HERE.replace(whole, present.path)
        HERE.settle(home)
    except BaseException as error:
        if not is_placed(present.path, draft):
            for name in names[1:]:
                shutil.copyfile(kept / name, present.path.with_name(name))
            shutil.rmtree(kept)
        if isinstance(error, (OSError, apsw.Error)):
            raise making.cannot(home, error) from error
        raise
    return kept


def _put_aside(home: Path, present: Present, names: list[str]) -> Path:
    """Copies of the bytes of a file that SQLite cannot open, and of its log, as a backup."""
    parent = home / BACKUPS
    try:
        with making.drafted(parent) as folder:
            for name in names:
                shutil.copyfile(present.path.with_name(name), folder / name)
                (folder / name).chmod(0o600)
                flush_file(folder / name)
            Manifest(
                satchel=__version__,
                made_at=iso(SYSTEM_CLOCK.now_ms()),
                reason=BEFORE,
                schema=0,
                replica_id="",
                files=tuple(manifest.entry(folder, name) for name in names),
                damaged=manifest.printable(present.why) or "it cannot be opened",
            ).write(folder)
            return making.named(folder, parent)
    except OSError as error:
        raise making.cannot(parent, error) from error
