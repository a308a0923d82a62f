"""Failures of hooks, kept beside the replica for `satchel doctor`: a host is never told of one.

One JSON object a line, appended at once: it has to work when the database is what failed. What a
person or a model said is never part of it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from satchel.plain_file import opener, read_bytes

FAILURES_FILE: Final = "hook_failures.jsonl"
FAILURES_BYTES_MAX: Final = 64 * 1024
"""From this size on the older half is let go."""
MESSAGE_CHARS_MAX: Final = 300


class Failure(NamedTuple):
    """One failure: when (UTC ms), of which host's hook in which command, what."""

    at: int
    command: str
    host: str
    code: str
    message: str


def keep(home: Path, command: str, host: str, code: str, message: str) -> bool:
    """Append a failure. Whether it could be kept: nothing is raised, for nobody would hear it.

    An error's message may quote what it could not use, so what looks like a secret is masked.
    """
    from satchel.redaction import redact  # only a failure needs it

    return keep_as_it_is(home, command, host, code, redact(message[:MESSAGE_CHARS_MAX]).text)


def keep_as_it_is(home: Path, command: str, host: str, code: str, message: str) -> bool:
    """The same of a message that quotes nothing, at once."""
    failure = Failure(time.time_ns() // 1_000_000, command, host, code, message)
    line = json.dumps(failure._asdict(), ensure_ascii=True) + "\n"
    try:
        _append(home / FAILURES_FILE, line.encode())
    except OSError:
        return False
    return True


def listed(home: Path, since_ms: int = 0) -> list[Failure]:
    """Those kept since then, oldest first; a line that is damaged is left out. Raises OSError."""
    try:
        raw = read_bytes(home / FAILURES_FILE)
    except FileNotFoundError:
        return []
    return [one for one in _read(raw) if one.at >= since_ms]


def _read(raw: bytes) -> Iterator[Failure]:
    for line in raw.splitlines():
        try:
            said = json.loads(line)
            yield Failure(int(said["at"]), *(str(said[name]) for name in Failure._fields[1:]))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue


def _append(path: Path, line: bytes) -> None:
    """One write at the end of the file: lines of several processes do not mix."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    descriptor = opener(str(path), flags)
    try:
        if os.fstat(descriptor).st_size > FAILURES_BYTES_MAX:
            os.lseek(descriptor, 0, os.SEEK_SET)
            kept = os.read(descriptor, 2 * FAILURES_BYTES_MAX)
            half = kept[len(kept) // 2 :].partition(b"\n")[2]
            os.ftruncate(descriptor, 0)
            os.write(descriptor, half)
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
