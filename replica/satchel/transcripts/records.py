"""The JSON objects of a transcript, line by line, from a file that its host may be writing to.

The file is only read when it is a plain file of whoever asks. What is no JSON object is told and
left out, and so is a last line that is not finished yet.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from satchel.errors import SatchelError
from satchel.plain_file import opener
from satchel.transcripts.pick import Object
from satchel.transcripts.turn import Fault, FaultCode

LINE_BYTES_MAX = 64 * 1024 * 1024
"""A longer line is left out: hosts write pictures as text into theirs, but not of that size."""
WHOLE_BYTES_MAX = 256 * 1024 * 1024
"""A transcript that is one JSON document, and is read at once."""
FAULTS_MAX = 1_000
"""Faults that are kept; a file with more of them is no transcript."""
_SKIP_BYTES = 1024 * 1024
_FILLING = b" \t\r\n\0"
"""White space, and what a power cut leaves where a line was to be."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_UNSTORABLE_ESCAPED = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


class TranscriptUnreadable(SatchelError):
    """A transcript is not there, is no plain file, or is not of whoever asks."""

    code = "transcript_unreadable"


class Record(NamedTuple):
    """One JSON object of a transcript, and its line, from 1 on."""

    line: int
    said: Object


class Faults(list[Fault]):
    """What could not be read; beyond FAULTS_MAX it is only counted."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out = 0

    def tell(self, line: int, code: FaultCode, message: str) -> None:
        """Note one."""
        if len(self) < FAULTS_MAX:
            self.append(Fault(line=line, code=code, message=message))
        else:
            self.left_out += 1


@contextmanager
def opened(path: Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    """The file, open to be read. Raises TranscriptUnreadable.

    Without `follow` a symbolic link is refused. A pipe, a device, a folder and the file of another
    account always are: whoever names a path to a hook must not make us read or wait for anything.
    """
    flags = 0 if follow else _NO_LINK
    try:
        file = open(path, "rb", opener=lambda name, mode: opener(name, mode | flags))  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise unreadable(path, getattr(error, "strerror", None) or str(error)) from error
    with file:
        owner = os.fstat(file.fileno()).st_uid
        if hasattr(os, "geteuid") and owner != os.geteuid():
            raise unreadable(path, "it belongs to another account")
        yield file


def unreadable(path: Path, why: str) -> TranscriptUnreadable:
    """The error that says so."""
    return TranscriptUnreadable(
        f"the transcript {str(path)!r} cannot be read: {why}",
        hint="give a file that the host wrote for you; `--all` finds them",
        field="file",
    )


def lines(file: BinaryIO, faults: Faults) -> Iterator[Record]:
    """The objects of a JSONL file, up to where it ends now."""
    left, number = os.fstat(file.fileno()).st_size, 0
    while left > 0:
        raw = file.readline(min(left, LINE_BYTES_MAX + 1))
        if not raw:  # it was cut while we read
            return
        left, number = left - len(raw), number + 1
        if len(raw) > LINE_BYTES_MAX and not raw.endswith(b"\n"):
            left -= _skip_line(file, left)
            faults.tell(number, "line_too_long", f"it has more than {LINE_BYTES_MAX} bytes")
        elif raw.strip(_FILLING):
            found = _object(raw, number, raw.endswith(b"\n"), faults)
            if found is not None:
                yield Record(number, found)


def whole(file: BinaryIO, path: Path, faults: Faults) -> Object:
    """The one object that the file is, or an empty one. Raises TranscriptUnreadable."""
    raw = file.read(WHOLE_BYTES_MAX + 1)
    if len(raw) > WHOLE_BYTES_MAX:
        raise unreadable(path, f"it has more than {WHOLE_BYTES_MAX} bytes")
    return (_object(raw, 1, False, faults) or {}) if raw.strip() else {}


def _skip_line(file: BinaryIO, left: int) -> int:
    """Read to the end of the line; how many bytes that were."""
    skipped = 0
    while skipped < left:
        raw = file.readline(min(left - skipped, _SKIP_BYTES))
        skipped += len(raw)
        if not raw or raw.endswith(b"\n"):
            break
    return skipped


def _object(raw: bytes, number: int, ended: bool, faults: Faults) -> Object | None:
    """The object of a line; None, and a fault, where there is none."""
    try:
        said, bad_at = raw.strip(_FILLING).decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        said, bad_at = raw.strip(_FILLING).decode("utf-8", "replace"), error.start
    try:
        found = json.loads(said)
        if _UNSTORABLE_ESCAPED.search(raw):
            found = _storable(found, number, faults)
    except (ValueError, RecursionError) as error:
        where = getattr(error, "pos", None)
        told = (
            "a value in it is too large or too deep"
            if where is None
            else f"no JSON at position {where}"
        )
        faults.tell(number, "broken_json" if ended else "unfinished", told)
        return None
    if not isinstance(found, dict):
        faults.tell(number, "not_object", f"it is a {type(found).__name__}, not an object")
        return None
    if bad_at is not None:
        faults.tell(number, "not_utf8", f"byte {bad_at} is no UTF-8")
    return found


def _storable(found: Any, number: int, faults: Faults) -> Any:
    """The same with each NUL and lone surrogate, which no store takes, replaced and told."""
    clean, changed = _mended(found)
    if changed:
        faults.tell(number, "bad_text", "NUL or a lone surrogate was replaced")
    return clean


def _mended(value: Any) -> tuple[Any, bool]:
    if isinstance(value, str):
        clean, count = _UNSTORABLE.subn("\ufffd", value)
        return clean, count > 0
    if isinstance(value, list):
        items = [_mended(one) for one in value]
        return [one for one, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        pairs = [(_mended(key), _mended(one)) for key, one in value.items()]
        changed = any(first[1] or second[1] for first, second in pairs)
        return {first[0]: second[0] for first, second in pairs}, changed
    return value, False
