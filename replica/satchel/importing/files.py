"""Opening what is imported: plain files within limits, and their lines, numbered from 1."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from satchel.errors import InvalidInput
from satchel.importing.records import Fault, Place
from satchel.plain_file import opener

STDIN = "-"
LINE_BYTES_MAX = 16 * 1024 * 1024
"""A row has 1 MB of text at most, which is up to six times as much where JSON escapes it."""
DOCUMENT_BYTES_MAX = 256 * 1024 * 1024
"""A JSON document is read whole."""


@contextmanager
def opened(path: Path | None) -> Iterator[BinaryIO]:
    """A plain file, or stdin for None. Raises InvalidInput where it cannot be read."""
    if path is None:
        yield sys.stdin.buffer
        return
    try:
        with io.BufferedReader(io.FileIO(path, "r", opener=opener)) as file:
            yield file
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InvalidInput:
    """That a path cannot be read, and why."""
    return InvalidInput(
        f"{path} cannot be read: {error.strerror or error}",
        hint="give the file or folder that the format is in (docs/IMPORT.md)",
        field="path",
    )


def lines(file: BinaryIO) -> Iterator[tuple[Place, bytes] | Fault]:
    """The lines that hold something; one that is too long is a fault, and the next goes on."""
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        place = Place(line=number)
        if len(line) > LINE_BYTES_MAX:
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE_BYTES_MAX)
            yield Fault(place, InvalidInput(f"the line is longer than {LINE_BYTES_MAX} bytes"))
        elif line.strip():
            yield place, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def text_of(raw: bytes) -> str:
    """UTF-8 text. Raises InvalidInput with the byte at fault and its position."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"it is not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start}",
            hint="save it as UTF-8",
        ) from error


def read_whole(path: Path | None, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """All of a file. Raises InvalidInput where it is larger, or cannot be read."""
    with opened(path) as file:
        raw = file.read(bytes_max + 1)
    if len(raw) > bytes_max:
        raise InvalidInput(
            f"{path or 'stdin'} has more than {bytes_max} bytes, and is read whole",
            hint="split it, or export it as JSON lines",
            field="path",
        )
    return raw
