"""The file of a replica: made private, recognised by its place, switched to write-ahead logging."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.errors import StoreUnusable
from satchel.store import local_disk

if TYPE_CHECKING:
    import apsw


def make(path: Path) -> tuple[int, int]:
    """The home (0700) and an empty file in it, unless they are there; the file is made 0600.

    Returns its device and number. A file with a second name is refused: SQLite keeps its log beside
    the name, so two programs that open it by two names write over each other. So is a home on a
    network file system.
    """
    try:
        _require_local(path.parent)
        missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        header = _begun(path)
        found = path.stat()
        if stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise StoreUnusable(
            f"the replica {path} cannot be made or opened: {error.strerror}",
            hint="choose a home that this user may write, with --home or SATCHEL_HOME",
        ) from error
    if found.st_nlink > 1:
        raise StoreUnusable(
            f"the replica {path} has a second name (a hard link): writes by two names are lost",
            hint="delete the other name, or make a copy of its own: cp FILE NEW; mv NEW FILE",
        )
    if not header or header[18:20] == b"\x01\x01":
        from satchel.store import stray  # a new file, or a backup that was put here, is rare

        stray.keep_aside(path)
    return found.st_dev, found.st_ino


def _require_local(home: Path) -> None:
    """Raise StoreUnusable where another machine may write to the home, too."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    if network := local_disk.refusal(there):
        raise StoreUnusable(
            f"the home {home} lies on {network}: two machines would write over each other",
            hint="choose a home on a disk of this machine, with --home or SATCHEL_HOME",
        )


def _begun(path: Path) -> bytes:
    """The first bytes of a file, which is made where there is none."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return os.read(handle, 20)
    finally:
        os.close(handle)


def use_wal(db: apsw.Connection, path: Path) -> None:
    """Switch to write-ahead logging. Raises StoreUnusable where the disk cannot have it."""
    mode = db.execute("PRAGMA journal_mode = WAL").get
    if mode != "wal":
        raise StoreUnusable(
            f"the replica {path} cannot use write-ahead logging here (journal mode is {mode!r})",
            hint="move the home to a local disk: network file systems lack shared memory",
        )
