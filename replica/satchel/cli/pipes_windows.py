"""A pipe of Windows whose reader went away: its C library says EINVAL, where others say EPIPE.

https://github.com/python/cpython/issues/79935
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import Any, TextIO


class Pipe(io.FileIO):
    """The descriptor of a pipe, which tells of a reader that is gone as everywhere."""

    def write(self, data: Any, /) -> int:
        """Raises BrokenPipeError."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error


def told(stream: TextIO) -> TextIO:
    """A stream in place of one that leads into a pipe; any other as it is."""
    try:
        descriptor = stream.fileno()
    except OSError:  # it is no file of the system
        return stream
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return stream
    buffer = io.BufferedWriter(Pipe(descriptor, "wb", closefd=False))
    return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", newline="\n")
