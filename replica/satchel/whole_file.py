"""Writing a file that somebody named: whole and durable under its name, or not there at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from satchel_crypto.file_system import HERE


@contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file to write and read, mode 0600, that takes its name when the body has ended.

    Until then it lies beside it under another one. A symbolic link to a file is replaced, what it
    leads to stays. Raises OSError, also for a device, a pipe or a folder, which no file may
    replace; FileExistsError where `path` is there already and is not to be written over.
    """
    _require_place(path)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} is there already")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            HERE.flush(file.fileno())
        if overwrite:
            HERE.replace(part, path)
        else:
            HERE.add(part, path)
    finally:
        part.unlink(missing_ok=True)
    HERE.settle(path.parent)


def _require_place(path: Path) -> None:
    """Raises OSError where something else than a file stands: all users lose a `/dev/null`."""
    # What /dev/stdout leads to may be a file, yet the link itself belongs to the system.
    led = str(path.readlink()) if path.is_symlink() else ""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode) or led.startswith(("/proc/", "/dev/")):
        raise OSError(
            errno.EINVAL, "it is a device or a pipe, no file: send stdout there", str(path)
        )
