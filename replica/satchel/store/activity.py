"""`activity.db`: what reading leaves behind, beside the replica so that reads write nothing synced.

Who read what and when, how often a memory was found, and what a caller was just given. Losing this
file loses no memory: a reader never fails because of it, and `satchel doctor` shows its state.
"""

from __future__ import annotations

import _thread
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

DAY_MS = 24 * 60 * 60 * 1000
AUDIT_KEPT_DAYS = 90
RECALL_KEPT_MS = DAY_MS
"""How long a caller counts as having just been given a memory."""
BUSY_TIMEOUT_MS = 200
"""A reader waits no longer than this to leave its trace."""
PURGE_EACH_MS = 60 * 1000
"""How often a process looks for traces that are too old."""
WAL_PAGES = 100
"""Pages of the write-ahead log that go into the file at once; whoever opens it reads that many."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS read_audit (
  row INTEGER PRIMARY KEY, at INTEGER NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
  query TEXT, ids TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS read_audit_at ON read_audit(at);
CREATE TABLE IF NOT EXISTS access (
  memory_id TEXT PRIMARY KEY, count INTEGER NOT NULL, last_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recalled (
  caller TEXT NOT NULL, memory_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (caller, memory_id)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAudit:
    """One read: who asked what with which tool, and the ids of the answer."""

    at: int
    caller: str
    tool: str
    query: str | None
    ids: tuple[str, ...]


class Activity:
    """The side database of one home; every method is one short transaction."""

    def __init__(self, home: Path) -> None:
        self.path = home / "activity.db"
        self._failures = 0
        self._last_failure = ""
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self._purged_at: int | None = None

    @property
    def failures(self) -> int:
        """How much could not be written or read."""
        with self._lock:
            return self._failures

    @property
    def last_failure(self) -> str:
        """Why, the last time."""
        with self._lock:
            return self._last_failure

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def record_read(
        self, caller: str, ids: Sequence[str], at: int, *, tool: str, query: str | None = None
    ) -> bool:
        """Leave a trace of one read at `at` (UTC ms). Whether it could be written."""
        with self._lock:
            return self._kept(caller, ids, at, tool, query)

    def record_read_soon(
        self, caller: str, ids: Sequence[str], at: int, *, tool: str, query: str | None = None
    ) -> None:
        """Like `record_read`, beside what the caller does next; all other methods wait for it."""
        self._lock.acquire()
        trace = (caller, ids, at, tool, query)
        try:
            _thread.start_new_thread(self._keep_and_release, trace)
        except RuntimeError:  # no more threads are to be had: then now
            self._keep_and_release(*trace)

    def wait(self) -> None:
        """Return when every trace that was to be left soon is left."""
        with self._lock:
            pass

    def _keep_and_release(self, *trace: Any) -> None:
        try:
            self._kept(*trace)
        finally:
            self._lock.release()

    def _kept(self, caller: str, ids: Sequence[str], at: int, tool: str, query: str | None) -> bool:
        """With the lock."""
        try:
            with self._open() as db:
                self._record(db, caller, ids, at, tool, query)
                if self._purged_at is None or abs(at - self._purged_at) >= PURGE_EACH_MS:
                    self._purge(db, at)
        except (apsw.Error, OSError) as error:
            # Said by doctor: a read is not refused because its trace cannot be kept.
            self._failed(error)
            return False
        return True

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._last_failure = str(error)

    def recalled(self, caller: str, ids: Sequence[str], since: int) -> frozenset[str]:
        """Which of these memories the caller was given since `since` (UTC ms)."""
        found = self._read(
            "SELECT memory_id FROM recalled WHERE caller = ? AND at >= ?"
            " AND memory_id IN (SELECT value FROM json_each(?))",
            (caller, since, json.dumps(list(ids))),
        )
        return frozenset(str(memory_id) for (memory_id,) in found)

    def access_counts(self, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Memory id -> (how often it was given, last time in UTC ms); others are left out."""
        found = self._read(
            "SELECT memory_id, count, last_at FROM access"
            " WHERE memory_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {str(memory_id): (int(count), int(at)) for memory_id, count, at in found}

    def audit(self, limit: int = 100) -> list[ReadAudit]:
        """The latest reads, newest first."""
        found = self._read(
            "SELECT at, caller, tool, query, ids FROM read_audit ORDER BY row DESC LIMIT ?",
            (limit,),
        )
        return [
            ReadAudit(at=at, caller=caller, tool=tool, query=query, ids=tuple(json.loads(ids)))
            for at, caller, tool, query, ids in found
        ]

    def _read(self, query: str, parameters: tuple[str | int, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._open().execute(query, parameters).fetchall()
            except (apsw.Error, OSError) as error:
                self._failed(error)
                return []

    def _open(self) -> apsw.Connection:
        if self._db is None:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            # A command reads once and ends: the disk is waited for every some reads, not at each.
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.wal_autocheckpoint(WAL_PAGES)
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(SCHEMA)
            self._db = db
        return self._db

    @staticmethod
    def _record(
        db: apsw.Connection,
        caller: str,
        ids: Sequence[str],
        at: int,
        tool: str,
        query: str | None,
    ) -> None:
        db.execute(
            "INSERT INTO read_audit(at, caller, tool, query, ids) VALUES(?, ?, ?, ?, ?)",
            (at, caller, tool, query, json.dumps(list(ids))),
        )
        db.executemany(
            "INSERT INTO access(memory_id, count, last_at) VALUES(?, 1, ?)"
            " ON CONFLICT(memory_id) DO UPDATE SET count = count + 1, last_at = excluded.last_at",
            [(memory_id, at) for memory_id in ids],
        )
        db.executemany(
            "INSERT INTO recalled(caller, memory_id, at) VALUES(?, ?, ?)"
            " ON CONFLICT(caller, memory_id) DO UPDATE SET at = excluded.at",
            [(caller, memory_id, at) for memory_id in ids],
        )

    def _purge(self, db: apsw.Connection, at: int) -> None:
        db.execute("DELETE FROM read_audit WHERE at < ?", (at - AUDIT_KEPT_DAYS * DAY_MS,))
        db.execute("DELETE FROM recalled WHERE at < ?", (at - RECALL_KEPT_MS,))
        self._purged_at = at
