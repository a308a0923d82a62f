"""What operating systems do in ways of their own with files: flush one, let it take its name.

Whatever has to be whole and durable on the disk is written through `HERE`.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

PATIENCE_S = 2.0
"""How long a name on Windows may be held by somebody who reads it: a virus scanner, an index."""
OPENING_S = 0.1
"""How long a name on Windows may be between two files."""
_PAUSE_S = 0.01
_OWNER = 0o600
_O_BINARY: int = getattr(os, "O_BINARY", 0)  # else its C library changes line ends
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
"""What link(2) says on FAT and exFAT, the file systems of sticks, and on some network disks."""
_F_FULLFSYNC = 51
"""fcntl(2) of macOS; Python has its name there only."""


class FileSystem(Protocol):
    """The files of an operating system: `Posix`, `MacOS`, `Windows`."""

    @property
    def maps_hold(self) -> bool:
        """Whether a file that is mapped or open can be neither replaced nor deleted."""

    def opened(self, path: Path | str, flags: int) -> int:
        """A descriptor of a file, made with mode 0600 where `flags` say so. Raises OSError."""

    def flush(self, descriptor: int) -> None:
        """Bring a file's bytes to the disk; it is open to be written. Raises OSError."""

    def replace(self, part: Path, path: Path) -> None:
        """Give a file its name, in place of what has it. Raises OSError."""

    def add(self, part: Path, path: Path) -> None:
        """The same for a name that is free; `part` may stay. Raises FileExistsError, OSError."""

    def fill(self, part: Path, path: Path) -> None:
        """The same in place of the empty file that a power cut left where `add` had begun.

        Raises FileExistsError for any other file, OSError.
        """

    def settle(self, folder: Path) -> None:
        """Make the names in a folder durable, where a folder can be flushed at all.

        Raises OSError.
        """


_NO_FLUSH_OF_FOLDERS = frozenset(
    {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EBADF, errno.ENOENT}
)
"""What is said where a folder cannot be flushed, may not be read, or is gone with its names."""


class Posix:
    """Linux and its kin."""

    maps_hold = False

    def __init__(self, link: Callable[[Path, Path], None] = os.link) -> None:
        """`link` is link(2)."""
        self._link = link

    def opened(self, path: Path | str, flags: int) -> int:
        """open(2), which does not wait for the other end of a pipe."""
        return os.open(path, flags | os.O_NONBLOCK, _OWNER)

    def flush(self, descriptor: int) -> None:
        """fsync(2)."""
        os.fsync(descriptor)

    def replace(self, part: Path, path: Path) -> None:
        """rename(2): atomic, whoever reads the old file."""
        part.replace(path)

    def add(self, part: Path, path: Path) -> None:
        """link(2), which fails where the name is taken; without links the name is taken first."""
        try:
            self._link(part, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _add_by_reserving(part, path)

    def fill(self, part: Path, path: Path) -> None:
        """Where there are no links: with them no empty file is made, so one is damaged."""
        probe = part.with_name(f"{part.name}.link")
        try:
            self._link(part, probe)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _fill(part, path)
        else:
            probe.unlink()
            raise _taken(path)

    def settle(self, folder: Path) -> None:
        """fsync(2) of the folder. Raises OSError where its disk fails, or is full."""
        try:
            handle = os.open(folder, os.O_RDONLY)
            try:
                self.flush(handle)
            finally:
                os.close(handle)
        except OSError as error:
            if error.errno not in _NO_FLUSH_OF_FOLDERS:
                raise


class MacOS(Posix):
    """macOS, whose fsync(2) leaves bytes in the cache of the drive."""

    def __init__(self, control: Callable[[int, int], Any]) -> None:
        """`control` is fcntl(2)."""
        super().__init__()
        self._control = control

    def flush(self, descriptor: int) -> None:
        """F_FULLFSYNC; fsync(2) on disks that have it not, such as those of a network."""
        try:
            self._control(descriptor, _F_FULLFSYNC)
        except OSError:
            os.fsync(descriptor)


class Windows:
    """NTFS and FAT, by what Python calls there."""

    maps_hold = True

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """`sleep` waits so many seconds."""
        self._sleep = sleep

    def opened(self, path: Path | str, flags: int) -> int:
        """CreateFile; it is refused in the moment in which another file takes the name."""
        for pause_s in _pauses(OPENING_S):
            with suppress(PermissionError):
                return os.open(path, flags | _O_BINARY, _OWNER)
            self._sleep(pause_s)
        return os.open(path, flags | _O_BINARY, _OWNER)

    def flush(self, descriptor: int) -> None:
        """FlushFileBuffers."""
        os.fsync(descriptor)

    def replace(self, part: Path, path: Path) -> None:
        """MoveFileEx; it is refused while somebody has the name open, which may pass."""
        for pause_s in _pauses(PATIENCE_S):
            with suppress(PermissionError):
                part.replace(path)
                return
            self._sleep(pause_s)
        part.replace(path)

    def add(self, part: Path, path: Path) -> None:
        """MoveFileEx, which does not replace unless it is told to."""
        part.rename(path)

    def fill(self, part: Path, path: Path) -> None:
        """Never: MoveFileEx leaves no empty file."""
        raise _taken(path)

    def settle(self, folder: Path) -> None:
        """Nothing: a folder cannot be flushed, NTFS has its own log of names."""


def of(platform: str) -> FileSystem:
    """That of a system, named as in `sys.platform`."""
    if platform == "win32":
        return Windows()
    if platform == "darwin":
        import fcntl

        return MacOS(control=fcntl.fcntl)
    return Posix()


HERE: FileSystem = of(sys.platform)
"""That of this machine."""


def flush_file(path: Path) -> None:
    """Bring to the disk what is in a file, whoever wrote it. Raises OSError."""
    handle = os.open(path, os.O_RDWR)  # Windows flushes nothing that is open to be read only
    try:
        HERE.flush(handle)
    finally:
        os.close(handle)


def _add_by_reserving(part: Path, path: Path) -> None:
    """Take a free name with an empty file, and then replace that.

    Who looks in between finds an empty file, as after a power cut.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER))
    _fill(part, path)


def _fill(part: Path, path: Path) -> None:
    """Replace an empty file; of several who want to, the first that locks it does.

    Raises FileExistsError where it is not empty, or no longer the one that has the name.
    """
    import fcntl

    handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        with suppress(OSError):  # a disk that has no locks either goes without
            fcntl.flock(handle, fcntl.LOCK_EX)
        empty = os.fstat(handle)
        if empty.st_size or not stat.S_ISREG(empty.st_mode) or not _has_name(empty, path):
            raise _taken(path)
        try:
            part.replace(path)
        except OSError:
            if _has_name(empty, path):
                path.unlink()
            raise
    finally:
        os.close(handle)


def _has_name(status: os.stat_result, path: Path) -> bool:
    try:
        return os.path.samestat(status, path.lstat())
    except FileNotFoundError:
        return False


def _taken(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _pauses(total_s: float) -> list[float]:
    """Growing pauses, of so long in all."""
    pauses: list[float] = []
    while sum(pauses) < total_s:
        pauses.append(min(_PAUSE_S * 2 ** len(pauses), total_s / 4))
    return pauses
