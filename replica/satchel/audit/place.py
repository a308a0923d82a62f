"""Where the chains of this machine lie: the writes in satchel.db, the reads in activity.db."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import apsw

from satchel.audit import chain
from satchel.store.activity import ACTIVITY_FILE, BUSY_TIMEOUT_MS
from satchel_crypto.audit_record import WRITES, Record

if TYPE_CHECKING:
    from satchel.store.connection import Store


@contextmanager
def opened(store: Store, name: str) -> Iterator[apsw.Connection | None]:
    """A snapshot of the file that a chain lies in, or None where there is none yet.

    Looked at with every sync, so no schema is made or checked. Raises apsw.Error where it cannot be
    read.
    """
    if name == WRITES:
        with store.read() as db:
            yield db
        return
    path = store.home / ACTIVITY_FILE
    if not path.exists():
        yield None
        return
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute("BEGIN")
        made = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit'").get
        yield db if made else None
    finally:
        db.close()


def last(store: Store, name: str) -> Record | None:
    """The last record of the chain that this machine writes now."""
    with opened(store, name) as db:
        return None if db is None else chain.last(db, store.replica_id)


def link_at(store: Store, name: str, seq: int) -> bytes | None:
    """The link of a record of it; None for one that is not there any more."""
    with opened(store, name) as db:
        if db is None:
            return None
        found = next(chain.records(db, store.replica_id, after=seq - 1, limit=1), None)
        return found.link if found is not None and found.seq == seq else None
