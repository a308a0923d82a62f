"""A store without a file: rows of elsewhere, put into tables so that what reads tables reads them.

One thread uses it, and nothing of it outlives it: no disk sees what it holds.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from satchel.store import identity, migrate
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel_sync.ports import Clock

NOWHERE = Path("/nonexistent/satchel")
"""The home of what has none."""


class InMemoryStore(Store):
    """A store in the schema of this program, empty at first."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        """Make the tables."""
        super().__init__(NOWHERE / "memory.db", "process", 0, clock)
        self.replica_id = identity.load(self._db())

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(":memory:")
        with self._lock:
            self._connections.add(db)
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA recursive_triggers = 0")
        migrate.migrate(db, self.path)
        self._schema = db.execute("PRAGMA user_version").get
        return db

    def _require_same_file(self) -> None:
        """There is none that could be another."""
