"""activity.db as the audit opens it, beside the readers of this and other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from satchel.audit import chain
from satchel.store import flushing
from satchel.store.activity import ACTIVITY_FILE as ACTIVITY_FILE
from satchel.store.activity import BUSY_TIMEOUT_MS, prepare
from satchel_crypto.private_file import settle


@contextmanager
def connected(home: Path, *, durable: bool = False) -> Iterator[apsw.Connection]:
    """activity.db, made where there is none; with `durable` a commit is on the disk at its end.

    Raises apsw.Error and OSError where it cannot be used.
    """
    path = home / ACTIVITY_FILE
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        prepare(db)
        chain.prepare(db)
        if durable:
            for pragma in flushing.pragmas("full"):
                db.execute(f"PRAGMA {pragma}")
            settle(home)
        yield db
    finally:
        db.close()


@contextmanager
def opened(home: Path) -> Iterator[apsw.Connection | None]:
    """A snapshot of activity.db to read, or None where there is no such file.

    Raises apsw.Error where it cannot be read.
    """
    if not (home / ACTIVITY_FILE).exists():
        yield None
        return
    with connected(home) as db:
        db.execute("BEGIN")
        try:
            yield db
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
