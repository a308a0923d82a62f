"""What is to be restored: a backup's folder, or the file that a migration kept; looked at first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

from satchel.backup import manifest as manifests
from satchel.backup.manifest import Entry, Manifest
from satchel.errors import BackupUnusable, NotFound, StoreNewer
from satchel.memory.moments import iso
from satchel.replica import DATABASE_FILE
from satchel.store import copying, identity, migrate, succession
from satchel.store.backups import BACKUPS, way_back
from satchel.store.current import APPLICATION_ID
from satchel.store.stray import has_no_log, header_of
from satchel_crypto.content import content_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A backup that may be restored here; `ids` are those that its replica ever had."""

    path: Path
    manifest: Manifest
    ids: frozenset[bytes]

    @property
    def database(self) -> Path:
        """The replica's file in it."""
        return self.path / DATABASE_FILE if self.path.is_dir() else self.path


def find(home: Path, given: Path) -> Source:
    """The backup that is meant, read through: a path, or a name in the home's `backups`.

    Raises NotFound where nothing lies, BackupUnusable for what is none or was damaged, StoreNewer
    for one of a newer satchel.
    """
    path = given if given.exists() or given.is_absolute() else home / BACKUPS / given
    if not path.exists():
        raise NotFound(
            f"there is no backup {given}",
            hint="`satchel backup --list` shows the backups of this home",
            field="backup",
        )
    if not path.is_dir():
        _require_single(path)
    found = manifests.read(path) if path.is_dir() else _of_migration(path)
    _require_usable(home, path, found)
    manifests.require_whole(path if path.is_dir() else path.parent, found)
    database = path / DATABASE_FILE if path.is_dir() else path
    with looked_into(database) as db:
        return Source(path=path, manifest=found, ids=succession.ours(db))


@contextmanager
def looked_into(database: Path, *, reading_all: bool = True) -> Iterator[apsw.Connection]:
    """A replica's file that nobody uses, opened so that not a byte in its folder changes.

    `reading_all` looks at every page before. Raises BackupUnusable for what is no whole replica.
    """
    uri = f"{database.absolute().as_uri()}?immutable=1"
    try:
        db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            if db.execute("PRAGMA application_id").get != APPLICATION_ID:
                raise _no_replica(database, "it is another program's database")
            if reading_all and (fault := copying.faults(db)):
                raise _no_replica(database, fault)
            yield db
        finally:
            db.close()
    except (apsw.Error, OSError) as error:
        raise _no_replica(database, str(error)) from error


def _require_single(path: Path) -> None:
    """Raise BackupUnusable for what is no file, or has its newest rows in a log beside it."""
    if not path.is_file():
        raise _no_replica(path, "it is no file")
    log = path.with_name(f"{path.name}-wal")
    try:
        has_log = log.exists() and log.stat().st_size and not has_no_log(header_of(path))
    except OSError as error:
        raise _no_replica(path, str(error)) from error
    if has_log:
        raise BackupUnusable(
            f"{path} is no backup: what was written last lies in {log.name} beside it",
            hint="put both into a folder of their own, as satchel.db and satchel.db-wal, and make a"
            " backup of that: `satchel --home FOLDER backup`",
            field="backup",
        )


def _of_migration(path: Path) -> Manifest:
    """What a manifest would say of a single file."""
    with looked_into(path) as db:
        return Manifest(
            satchel="",
            made_at=iso(path.stat().st_mtime_ns // 1_000_000),
            reason="before a migration",
            schema=int(db.execute("PRAGMA user_version").get),
            replica_id=identity.load(db).hex(),
            files=(Entry(name=path.name, bytes=path.stat().st_size, sha256=content_sha256(path)),),
        )


def _require_usable(home: Path, path: Path, found: Manifest) -> None:
    if found.damaged:
        raise _no_replica(path, f"it is a file that was put aside as damaged: {found.damaged}")
    if path.is_dir() and not found.has(DATABASE_FILE):
        raise _no_replica(path, f"{DATABASE_FILE} is not in it")
    if found.schema > migrate.latest():
        back = way_back(home, migrate.latest())
        older = f"; or restore an older one: {back}" if back else ""
        raise StoreNewer(
            f"the backup {path} is of a newer satchel: its schema is {found.schema},"
            f" this program knows {migrate.latest()}",
            hint=f"upgrade satchel on this machine{older}",
            field="backup",
        )


def _no_replica(path: Path, why: str) -> BackupUnusable:
    return BackupUnusable(
        f"{path} cannot be restored: {why}",
        hint="take another: `satchel backup --list` shows those of this home",
        field="backup",
    )
