"""Files that only their owner reads: read within a bound, replaced whole, one writer at a time."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel_crypto.errors import KeyInvalid
from satchel_crypto.file_system import HERE

_OWNER, _OTHERS = 0o600, 0o077
_LOCK_TIMEOUT_S = 30.0
_THREADS: dict[Path, threading.Lock] = {}
"""Path -> who holds it among the threads: the kernel's lock is of a process."""


def read(path: Path, bytes_max: int) -> bytes | None:
    """All of a file, or None where there is none.

    Raises KeyInvalid for one that others may read, write or own, that is no plain file, or too
    large.
    """
    try:
        handle = HERE.opened(path, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            _require_private(path, status)
            found = file.read(min(bytes_max, status.st_size) + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeyInvalid(f"{path} cannot be read: {error.strerror or error}") from error
    if len(found) > bytes_max:
        raise KeyInvalid(f"{path} has more than {bytes_max} bytes: satchel did not write it")
    return found


def replace(path: Path, data: bytes) -> None:
    """Put a file in its place, whole and durable, mode 0600. Raises KeyInvalid."""
    with _beside(path, data) as part:
        HERE.replace(part, path)


def add(path: Path, data: bytes) -> None:
    """As `replace`, but a file that is there already stays as it is. Raises KeyInvalid.

    An empty one that a power cut left on a disk without links counts as not there.
    """
    with _beside(path, data) as part, suppress(FileExistsError):
        try:
            HERE.add(part, path)
        except FileExistsError:
            if path.lstat().st_size == 0:
                HERE.fill(part, path)


@contextmanager
def _beside(path: Path, data: bytes) -> Iterator[Path]:
    """A durable file of another name in the same folder; the name it is given is settled."""
    import tempfile  # 7 ms, and nearly every command only reads

    try:
        _make_folder(path.parent)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                HERE.flush(file.fileno())
            yield part
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    settle(path.parent)


def settle(folder: Path) -> None:
    """Make new names in a folder durable, where a folder can be flushed at all.

    Raises KeyInvalid where its disk fails.
    """
    try:
        HERE.settle(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One thread of one process at a time; the kernel frees the lock however its holder ends.

    Raises KeyInvalid where the lock cannot be had.
    """
    with _THREADS.setdefault(path.absolute(), threading.Lock()), _locked(path):
        yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fasteners  # not for those who only read

    try:
        _make_folder(path.parent)
        if path.is_symlink():
            raise OSError("it is a symbolic link")
        path.touch(mode=_OWNER)
        lock = fasteners.InterProcessLock(path)
        gotten = lock.acquire(timeout=_LOCK_TIMEOUT_S)
    except OSError as error:
        raise _unwritable(path, error) from error
    if not gotten:
        raise KeyInvalid(f"another process holds {path} for more than {_LOCK_TIMEOUT_S:.0f} s")
    try:
        yield
    finally:
        lock.release()


def _require_private(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyInvalid(f"{path} is no plain file")
    if os.name != "posix":
        return
    # Root is let at the files of the user whose home it works on.
    if os.geteuid() != 0 and status.st_uid not in (0, os.geteuid()):
        raise KeyInvalid(
            f"{path} belongs to another user (uid {status.st_uid})",
            hint="whoever owns it can change it: restore your own from a backup",
        )
    if status.st_mode & _OTHERS:
        raise KeyInvalid(
            f"{path} is open to others (mode {status.st_mode & 0o777:o})",
            hint=f"chmod 600 {path}, and look at what it says before you rely on it",
        )


def _make_folder(folder: Path) -> None:
    """A folder, and the one above it, that only their owner enters."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _unwritable(path: Path, error: OSError) -> KeyInvalid:
    return KeyInvalid(f"{path} cannot be written: {error.strerror or error}")
