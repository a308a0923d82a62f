"""A backup: the replica's files as they are at one moment, whole or not there at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from satchel import __version__, peers
from satchel.backup import manifest as manifests
from satchel.backup.alone import DRAFT_PREFIX, DRAFT_SUFFIX, alone
from satchel.backup.manifest import KEYS_PREFIX, Manifest
from satchel.backup.present import busy
from satchel.config import CONFIG_FILE
from satchel.errors import BackupUnusable, NotFound, SatchelError, StoreUnusable
from satchel.memory.moments import iso
from satchel.plain_file import read_bytes
from satchel.protection import KEYS_FOLDER
from satchel.replica import DATABASE_FILE
from satchel.store import copying, identity
from satchel.store.activity import ACTIVITY_FILE, BUSY_TIMEOUT_MS
from satchel.store.backups import BACKUPS
from satchel.store.connection import SYSTEM_CLOCK
from satchel.store.sql import alive
from satchel_crypto.file_system import HERE

if TYPE_CHECKING:
    from satchel.config import Settings

ASKED = "asked for"
KEY_SUFFIXES = (".key", ".json", ".seen")
KEY_BYTES_MAX = 16 << 20
KEYS_LEFT_OUT = (
    "the keys of this machine and its secrets are not in it (--with-keys): where it is restored"
    " without them, the machine signs with new ones and its secrets have to be set again"
)


def make(settings: Settings, out: Path | None = None, *, with_keys: bool = False) -> dict[str, Any]:
    """Make a backup in `out` (default: `backups` of the home) while others read and write.

    Returns its path, what is in it and `notices`. Raises NotFound (no replica here), StoreUnusable
    (damaged, no space, no right), StoreNewer, StoreBusy.
    """
    settings.require_built()
    if not (settings.home / DATABASE_FILE).exists():
        raise NotFound(f"there is no replica in {settings.home}", hint="--home names another")
    with alone(settings.home), peers.opened(settings) as store, store.read() as db:
        made, notices = write(
            settings.home, db, out or settings.home / BACKUPS, reason=ASKED, with_keys=with_keys
        )
    notices += [] if with_keys else [KEYS_LEFT_OUT]
    return {**told(made), "notices": notices}


def told(folder: Path) -> dict[str, Any]:
    """A backup as the doors show it. Raises BackupUnusable, StoreNewer."""
    found = manifests.read(folder)
    return {
        "backup": str(folder),
        "made_at": found.made_at,
        "reason": found.reason,
        "satchel": found.satchel,
        "schema": found.schema,
        "replica_id": found.replica_id or None,
        "memories": found.rows.get("memory", 0),
        "bytes": sum(one.bytes for one in found.files),
        "files": [one.name for one in found.files if not one.name.startswith(KEYS_PREFIX)],
        "keys": bool(found.keys),
        "problem": found.damaged or None,
    }


def write(
    home: Path,
    db: apsw.Connection,
    parent: Path,
    *,
    reason: str,
    with_keys: bool = False,
    damaged_too: bool = False,
) -> tuple[Path, list[str]]:
    """Write what `db` sees in its read transaction, and what lies beside; its folder, notices.

    The replica first, then the reads: so no record of either tells of what is in neither. Raises
    StoreBusy, StoreUnusable, BackupUnusable.
    """
    notices: list[str] = []
    try:
        with drafted(parent) as folder:
            copying.copy(db, folder / DATABASE_FILE)
            schema, replica_id, rows, damage = _looked_at(folder / DATABASE_FILE)
            if damage and not damaged_too:
                raise _damaged(home, damage)
            names = [DATABASE_FILE]
            names += _activity(home, folder, notices)
            names += _plain(home, folder, [CONFIG_FILE])
            names += _plain(home, folder, _keys(home, notices) if with_keys else [])
            made = Manifest(
                satchel=__version__,
                made_at=iso(SYSTEM_CLOCK.now_ms()),
                reason=reason,
                schema=schema,
                replica_id=replica_id,
                files=tuple(manifests.entry(folder, name) for name in names),
                rows=rows,
                damaged=manifests.printable(damage),
            )
            made.write(folder)
            manifests.read(folder)  # what nobody could restore gets no name
            target = named(folder, parent)
    except apsw.BusyError as error:
        raise busy(home / DATABASE_FILE) from error
    except (OSError, apsw.Error) as error:
        raise cannot(parent, error) from error
    return target, notices


@contextmanager
def drafted(parent: Path) -> Iterator[Path]:
    """A private folder in `parent` that `named` gives its name; else it is removed."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=DRAFT_PREFIX, suffix=DRAFT_SUFFIX, dir=parent))
    try:
        yield folder
    finally:
        if folder.exists():
            shutil.rmtree(folder)


def named(folder: Path, parent: Path) -> Path:
    """Give a draft that is whole its name: `satchel-` and the UTC time, and a number if need be."""
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for tail in ("", *(f"-{number}" for number in range(2, 1000))):
        target = parent / f"satchel-{when}{tail}"
        if not target.exists():
            HERE.settle(folder)
            folder.rename(target)
            HERE.settle(parent)
            return target
    raise OSError(f"there are a thousand backups of {when}")


def cannot(parent: Path, error: Exception) -> StoreUnusable:
    """What is raised where a backup cannot be written; nothing of it is left."""
    said = getattr(error, "strerror", None) or error
    if isinstance(error, apsw.FullError):  # what the backup API raises says "not an error"
        said = "the disk is full"
    return StoreUnusable(
        f"no backup could be made in {parent}: {said}",
        hint="free some disk space, or let this user write to that folder; --out names another",
    )


def _looked_at(path: Path) -> tuple[int, str, dict[str, int], str]:
    """Schema, replica id, living rows by kind, and what is wrong with a copy."""
    from satchel_sync.tables import TABLES

    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        schema = int(db.execute("PRAGMA user_version").get)
        damage = copying.faults(db)
        if damage:
            return schema, "", {}, damage
        query = "SELECT count(*) FROM {} WHERE {}"
        rows = {one.name: db.execute(query.format(one.name, alive())).get for one in TABLES}
        return schema, identity.load(db).hex(), rows, ""
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return 0, "", {}, str(error)
    finally:
        db.close()


def _activity(home: Path, folder: Path, notices: list[str]) -> list[str]:
    """A copy of activity.db; a reader's trace that cannot be had keeps no memory from a backup."""
    path = home / ACTIVITY_FILE
    if not path.exists():
        return []
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            db.execute("BEGIN")
            if damage := copying.faults(db):
                raise apsw.CorruptError(damage)
            copying.copy(db, folder / ACTIVITY_FILE)
        finally:
            db.close()
    except (apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError, apsw.BusyError) as error:
        notices.append(f"{ACTIVITY_FILE} is left out, it cannot be read: {error}")
        return []
    return [ACTIVITY_FILE]


def _plain(home: Path, folder: Path, names: list[str]) -> list[str]:
    """Copies of plain files, private; those that are not there are left out."""
    found = []
    for name in names:
        try:
            data = read_bytes(home / name)
        except FileNotFoundError:
            continue
        target = folder / name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            HERE.flush(file.fileno())
        found.append(name)
    return found


def _keys(home: Path, notices: list[str]) -> list[str]:
    """The machine's key files; `vault.seen` before `vault.json`, which may be newer."""
    folder = home / KEYS_FOLDER
    found = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
    there = [path for path in found if path.suffix != ".lock" and not path.name.startswith(".")]
    ours = [path for path in there if _is_key(path)]
    notices += [
        f"{KEYS_PREFIX}{manifests.printable(path.name)} is left out: satchel did not make it"
        for path in there
        if path not in ours
    ]
    return [f"{KEYS_PREFIX}{path.name}" for path in ours]


def _is_key(path: Path) -> bool:
    """Whether a file in `keys/` is of a name and a size that satchel gives."""
    named = manifests.is_name(f"{KEYS_PREFIX}{path.name}") and path.suffix in KEY_SUFFIXES
    return named and path.is_file() and path.stat().st_size <= KEY_BYTES_MAX


def _damaged(home: Path, damage: str) -> SatchelError:
    return BackupUnusable(
        f"{home / DATABASE_FILE} is damaged, so no backup was made of it: {damage}",
        hint="`satchel restore` puts the last whole backup in its place and keeps this file beside;"
        " `satchel backup --list` shows them",
    )
