"""The lock of whoever writes a vector file, so that nobody makes one that is being taken away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from satchel import plain_file


@contextmanager
def writer_lock(path: Path) -> Iterator[bool]:
    """Whether we are the one writer of that file now; nobody is waited for. Raises OSError.

    The same lock as `vectors.place.Place.locked` takes, for a file that may be of no place.
    """
    import fasteners

    place = path.with_suffix(".lock")
    os.close(plain_file.opener(str(place), os.O_RDWR | os.O_CREAT))
    lock = fasteners.InterProcessLock(place)
    ours = bool(lock.acquire(blocking=False))
    try:
        yield ours
    finally:
        if ours:
            lock.release()
        else:
            lock.lockfile.close()
