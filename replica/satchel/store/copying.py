"""A copy of a database as one private file that is whole: by SQLite's backup API, under load too.

https://sqlite.org/backup.html
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from satchel_crypto.file_system import HERE

STEP_PAGES = 2048


def copy(source: apsw.Connection, target: Path) -> None:
    """Copy what `source` sees in its read transaction; `target` gets its name when it is whole.

    Without that transaction a copy begins anew whenever somebody writes, for ever under load. The
    copy has no write-ahead log, which is how it is told from a file in use (`stray`). Raises
    OSError and apsw.Error; nothing is left then.
    """
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        made = apsw.Connection(str(draft))
        try:
            # A stick's file system may lack the shared memory that a log needs, if for a moment.
            made.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            with made.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(STEP_PAGES)
                    os.utime(draft.parent)  # who looks for what killed ones left sees us at work
            made.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            made.close()
        HERE.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}-journal").unlink(missing_ok=True)
    HERE.settle(target.parent)


def faults(db: apsw.Connection) -> str:
    """The first damage that `PRAGMA quick_check` names, or "". Reads the whole file."""
    try:
        said = str(db.execute("PRAGMA quick_check(1)").get)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        return str(error)
    return "" if said == "ok" else said
