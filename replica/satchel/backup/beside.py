"""What else a backup brings: it goes where there is nothing, and replaces nothing that is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from satchel.backup.making import KEY_SUFFIXES
from satchel.backup.sources import Source
from satchel.config import CONFIG_FILE
from satchel.errors import StoreUnusable
from satchel.protection import KEYS_FOLDER
from satchel.store import copying
from satchel.store.activity import ACTIVITY_FILE, BUSY_TIMEOUT_MS
from satchel.store.backups import BACKUPS
from satchel_crypto import private_file, random_bytes
from satchel_crypto.content import content_sha256
from satchel_crypto.errors import CryptoError
from satchel_crypto.file_system import HERE, flush_file

AUDIT_KEY = "audit.key"
_TAILS = ("-wal", "-shm")


@contextmanager
def keys_put(home: Path, source: Source, is_placed: Callable[[], bool]) -> Iterator[list[str]]:
    """The backup's keys, where the home has none but that of its audit, before anything is signed.

    They are taken back where the body fails and its replica is not in place. Gives the names of
    what was put there. Raises StoreUnusable.
    """
    names = [] if has_keys(home) else source.manifest.keys
    names = [name for name in names if not (home / name).exists()]
    try:
        _put(home, source, names)
        yield list(names)
    except BaseException:
        if not is_placed():
            for name in names:
                (home / name).unlink(missing_ok=True)
        raise


def put_config(home: Path, source: Source) -> list[str]:
    """The backup's config, where the home has none. Raises StoreUnusable."""
    if not source.manifest.has(CONFIG_FILE) or (home / CONFIG_FILE).exists():
        return []
    _put(home, source, [CONFIG_FILE])
    return [CONFIG_FILE]


def _put(home: Path, source: Source, names: Sequence[str]) -> None:
    try:
        for name in names:
            private_file.replace(home / name, (source.path / name).read_bytes())
    except (OSError, CryptoError) as error:
        raise StoreUnusable(
            f"{home} cannot be written: {error}", hint="let this user write there, free some space"
        ) from error


def has_keys(home: Path) -> bool:
    """Whether this machine has keys, a vault or friends of its own; any command makes AUDIT_KEY."""
    folder = home / KEYS_FOLDER
    found = folder.iterdir() if folder.is_dir() else iter(())
    return any(path.suffix in KEY_SUFFIXES and path.name != AUDIT_KEY for path in found)


def keys_left_out(home: Path, source: Source) -> list[str]:
    """Key files of the backup that are not what the home has now."""
    return [
        one.name
        for one in source.manifest.files
        if one.name in source.manifest.keys
        and not ((home / one.name).is_file() and content_sha256(home / one.name) == one.sha256)
    ]


def activity_fault(home: Path) -> str | None:
    """Why the reads of the home cannot stay: "" where there are none, None where they can."""
    path = home / ACTIVITY_FILE
    if not path.exists() or not path.stat().st_size:
        return ""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            return copying.faults(db) or None
        finally:
            db.close()
    except apsw.BusyError:
        return None  # somebody is writing in it
    except apsw.Error as error:
        return str(error)


def put_activity(home: Path, draft: Path, fault: str) -> list[str]:
    """The backup's reads in place of none, or of a file that is damaged, which is put aside."""
    path = home / ACTIVITY_FILE
    try:
        for file in (path, *(path.with_name(path.name + tail) for tail in _TAILS)):
            if not file.exists():
                continue
            if fault and file.stat().st_size and not file.name.endswith("-shm"):
                file.rename(home / BACKUPS / f"{file.name}-{random_bytes(4).hex()}.damaged")
            else:
                file.unlink()
        if not draft.exists():
            return []
        flush_file(draft)
        HERE.replace(draft, path)
        HERE.settle(home)
    except OSError as error:
        raise StoreUnusable(
            f"{path} cannot be replaced: {error.strerror}", hint="let this user write there"
        ) from error
    return [ACTIVITY_FILE]
