"""The locks of the home: who holds one, and whether this user may take it.

A lock is the kernel's: it goes with its holder, however that ends, so no file is ever "still
locked". What can be stale is a lock file that another user owns, or a process that does not end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from satchel.doctor.check import Check, Mend
from satchel.doctor.fault import words
from satchel.peers import LOCK_FILE
from satchel.protection import KEYS_FOLDER
from satchel.replica import DATABASE_FILE
from satchel.vectors.place import FOLDER as VECTORS

if TYPE_CHECKING:
    from satchel.config import Settings

HELD = Path("/proc/locks")
WRITER_BYTE = 120
"""Of the -shm file: who holds it writes (https://sqlite.org/walformat.html#wal_locks)."""
WRITER_WAIT_MS = 2_000
"""No transaction of satchel's takes so long but a migration."""
COMMAND_WORDS_MAX = 4
COMMAND_CHARS_MAX = 120


class Holder(NamedTuple):
    """Who holds a lock on a file: a process, and what it was started as."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})" if self.command else f"process {self.pid}"


def locks(settings: Settings) -> Check:
    """Lock files that this user may not open, then a writer that does not end."""
    home = settings.home
    shut = [path for path in _lock_files(home) if _is_shut(path)]
    if shut:
        return _shut(shut)
    if not _write_waits(home / DATABASE_FILE):
        syncing = holder(home / LOCK_FILE)
        return Check(name="locks", ok="ok", found=f"a sync runs: {syncing}" if syncing else "free")
    shm = home / f"{DATABASE_FILE}-shm"
    writer = holder(shm, WRITER_BYTE) or holder(home / DATABASE_FILE)
    who = str(writer) if writer else "another process"
    mend = f"kill -9 {writer.pid}" if writer else "end the program that writes"
    return Check(
        name="locks",
        ok="fail",
        found=f"{who} has been writing for more than {WRITER_WAIT_MS // 1000} s",
        fix=f"wait for it, or {mend}: what it has not committed is rolled back",
    )


def _lock_files(home: Path) -> list[Path]:
    folders = (home, home / KEYS_FOLDER, home / VECTORS)
    return [
        path
        for folder in folders
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
        for path in sorted(folder.glob("*.lock"))
    ]


def _shut(paths: list[Path]) -> Check:
    named = ", ".join(map(str, paths))
    mend = Mend(does=f"remove {named}", removes=True, run=lambda: _remove(paths))
    free = HELD.exists() and not any(holder(path) for path in paths)
    return Check(
        name="locks",
        ok="fail",
        found=f"this user may not take {named}: another one made it",
        fix=f"rm -f {words(*paths)}: it is made anew",
        mends=(mend,) if free else (),
    )


def _remove(paths: list[Path]) -> str:
    """Each that is still another user's, and that nobody has taken meanwhile."""
    done = [path for path in paths if _is_shut(path) and holder(path) is None]
    for path in done:
        path.unlink(missing_ok=True)
    left = [path for path in paths if path not in done]
    said = [f"removed {', '.join(map(str, done))}"] if done else []
    said += [f"left {', '.join(map(str, left))}: it is in use"] if left else []
    return "; ".join(said)


def _is_shut(path: Path) -> bool:
    return not os.access(path, os.R_OK | os.W_OK)


def _write_waits(path: Path) -> bool:
    """Whether a write would have to wait for longer than a while; nothing is written."""
    if not path.exists() or not os.access(path, os.R_OK | os.W_OK):
        return False
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return False
    try:
        db.set_busy_timeout(WRITER_WAIT_MS)
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except apsw.BusyError:
        return True
    except apsw.Error:  # the check of the replica tells
        return False
    finally:
        db.close()
    return False


def holder(path: Path, byte: int | None = None) -> Holder | None:
    """Who holds a lock on a file, or on one byte of it; None where nobody does or none can tell."""
    for line in _held_on(path):
        kind, pid, begin, end = line
        if kind == "WRITE" and (byte is None or begin <= byte <= end):
            return Holder(pid, _command(pid))
    return None


def _held_on(path: Path) -> Iterator[tuple[str, int, int, float]]:
    """(READ or WRITE, pid, first byte, last byte) of each lock on a file; Linux only.

    https://man7.org/linux/man-pages/man5/proc_locks.5.html
    """
    try:
        found, table = path.stat(), HELD.read_text("ascii")
    except OSError:
        return
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in table.splitlines():
        words = line.split()
        if len(words) == 8 and words[5] == place:
            end = float("inf") if words[7] == "EOF" else float(words[7])
            yield words[3], int(words[4]), int(words[6]), end


def _command(pid: int) -> str:
    """The first words that a process was started with, for later ones may be private; or ""."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
    return " ".join(words.split("\0")[:COMMAND_WORDS_MAX]).strip()[:COMMAND_CHARS_MAX]
