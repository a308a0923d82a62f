"""What killed processes left in the home: drafts that never took a name, a log without its file.

Minutes may pass between a look and its mend, for somebody is asked: each mend looks again, under
the lock of whoever makes such a thing, and does nothing about what has come to life.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from satchel.doctor.check import Mend
from satchel.doctor.fault import Fault, named, words
from satchel.doctor.writer_lock import writer_lock
from satchel.protection import KEYS_FOLDER
from satchel.replica import DATABASE_FILE
from satchel.store import stray
from satchel.store.backups import STAGING
from satchel.store.wiping import BACKUPS, VECTORS

STALE_S = 10 * 60
"""Whoever makes a draft writes to it all the time."""
_RANDOM = r"[a-z0-9_]{8}"
_STAGED = re.compile(rf"\.satchel-{_RANDOM}\.part|{re.escape(STAGING)}")
DRAFTS = {
    "": re.compile(rf"\.config\.toml\.{_RANDOM}\.part"),
    KEYS_FOLDER: re.compile(rf"\.[a-z0-9.-]+\.(key|json|seen)\.{_RANDOM}"),
    VECTORS: re.compile(r".+\.vec\.(?P<pid>\d+)\.draft"),
    BACKUPS: re.compile(rf"{_STAGED.pattern}|satchel-schema-\d{{4}}\.db\.(?P<pid>\d+)\.draft"),
}
"""Folder of the home -> the whole names of drafts that satchel makes there, and of nothing else."""


def drafts(home: Path) -> Fault | None:
    """Those that nobody writes to any more."""
    found = list(_stale(home))
    if not found:
        return None
    mend = Mend(does=f"remove {named(found)}", removes=True, run=lambda: _remove(home, found))
    said = f"left over by a process that is gone: {named(found)}"
    return Fault(said, f"rm -r {words(*found)}", mend)


def _stale(home: Path) -> Iterator[Path]:
    for name, pattern in DRAFTS.items():
        folder = home / name
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if _is_stale(path, pattern):
                yield path


def _is_stale(path: Path, pattern: re.Pattern[str]) -> bool:
    said = pattern.fullmatch(path.name)
    if said is None or path.is_symlink() or time.time() - _written_s(path) < STALE_S:
        return False
    pid = said.groupdict().get("pid")
    return pid is None or os.name != "posix" or not _lives(int(pid))


def _written_s(path: Path) -> float:
    """When a file was written last, or anything in a folder: a folder's own time stands still."""
    inside = path.rglob("*") if path.is_dir() else ()
    return max(float(one.lstat().st_mtime) for one in (path, *inside))


def _lives(pid: int) -> bool:
    """Whether there is such a process; signal 0 only asks."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove(home: Path, agreed: Sequence[Path]) -> str:
    """What was agreed to and is still stale. Raises StoreBusy where a backup is being made."""
    done = []
    for path in _stale(home):
        if path in agreed and _removed(home, path):
            done.append(path)
    left = [path for path in agreed if path not in done and path.exists()]
    said = [f"removed {named(done)}"] if done else []
    said += [f"left {named(left)}: somebody works on it"] if left else []
    return "; ".join(said) or "nothing: it is gone"


def _removed(home: Path, path: Path) -> bool:
    """Under the lock of whoever makes such a draft; whether it could be had."""
    if _STAGED.fullmatch(path.name):
        from satchel.backup.alone import alone

        with alone(home):  # by itself it takes away what killed ones left
            return not path.exists()
    if path.parent.name == VECTORS:
        with writer_lock(path.with_name(path.name.rsplit(".", 2)[0])) as ours:
            if ours:
                path.unlink(missing_ok=True)
            return ours
    path.unlink(missing_ok=True)
    return True


def orphan(home: Path) -> Fault | None:
    """A log whose database is gone. The next program that makes one keeps it aside."""
    database, log = home / DATABASE_FILE, home / f"{DATABASE_FILE}-wal"
    if database.exists() or not log.exists() or not log.stat().st_size:
        return None
    return Fault(
        f"{log} without {DATABASE_FILE}: it holds the last writes of a file that was moved away",
        f"put the {DATABASE_FILE} that it belongs to back beside it; else `satchel doctor --fix`"
        f" moves it into {BACKUPS}/, as the next write here does",
        Mend(does=f"move {log.name} into {BACKUPS}", run=lambda: _keep(database, log)),
        grave=True,
    )


def _keep(database: Path, log: Path) -> str:
    """Raises StoreUnusable. Nothing is done where a database has come, whose log it is now."""
    stray.keep_aside(database)
    if log.exists():
        return f"left {log}: {database.name} is there now, and it is its own"
    return f"moved {log} into {BACKUPS}"
