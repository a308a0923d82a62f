"""The replica's file as it lies in the home before a restore, in whatever state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from satchel.errors import StoreBusy, StoreUnusable
from satchel.store import stray, succession
from satchel.store.connection import BUSY_TIMEOUT_MS
from satchel.store.current import APPLICATION_ID

State = Literal["none", "whole", "damaged"]
"""`none`: not there, or an empty file; `damaged`: SQLite cannot open it as a replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """`ids` are those that the file ever had, `used` whether anything was ever written in it."""

    path: Path
    state: State
    ids: frozenset[bytes] = frozenset()
    used: bool = False
    why: str = ""


def look(path: Path) -> Present:
    """What lies there; a log that is another file's is moved away first, not replayed.

    Raises StoreUnusable for a database of another program, StoreBusy.
    """
    header = stray.header_of(path)
    if not header or stray.has_no_log(header):
        stray.keep_aside(path)
    if not header:
        return Present(path=path, state="none")
    try:
        with reading(path) as db:
            if not db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get:
                return Present(path=path, state="none")
            if db.execute("PRAGMA application_id").get != APPLICATION_ID:
                raise StoreUnusable(
                    f"{path} is a SQLite database, but not a satchel replica",
                    hint="move it away, or choose another home with --home or SATCHEL_HOME",
                )
            used = db.execute("SELECT seq FROM clock").get > 0
            return Present(path=path, state="whole", ids=succession.ours(db), used=used)
    except apsw.BusyError as error:
        raise busy(path) from error
    except (apsw.Error, TypeError, ValueError) as error:
        return Present(path=path, state="damaged", why=str(error))


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection]:
    """A snapshot of the file, whatever its schema. Raises apsw.Error."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        yield db
    finally:
        db.close()


def busy(path: Path) -> StoreBusy:
    """What is raised where another process writes for too long."""
    return StoreBusy(
        f"another process has been writing to {path} for too long",
        hint="try again; `satchel doctor` shows who holds the file",
    )
