"""Opening what has to be a plain file: a pipe or a device in its place is refused, not waited for.

Whoever opens a named pipe waits until somebody opens its other end.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from satchel_crypto.file_system import HERE


def opener(path: str, flags: int) -> int:
    """For `open(…, opener=…)`. Raises OSError for what is no plain file."""
    descriptor = HERE.opened(path, flags)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError("it is no file")


def read_bytes(path: Path) -> bytes:
    """All of it. Raises OSError, also for what is no plain file."""
    with io.FileIO(path, "r", opener=opener) as file:
        return file.readall()
