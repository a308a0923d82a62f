"""`activity.db`: what reading leaves behind, beside the replica so that reads write nothing synced.

Who read what and when (the chain of reads, see audit/), how often a memory was found, and what a
caller was just given. Losing this file loses no memory: a reader never fails because of it, and
`satchel doctor` shows its state.
"""

from __future__ import annotations

import _thread
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from satchel_crypto.errors import CryptoError

ACTIVITY_FILE = "activity.db"
DAY_MS = 24 * 60 * 60 * 1000
GIVEN_KEPT_DAYS = 365
"""For how long it is kept that a memory was given."""
RECALL_KEPT_MS = DAY_MS
"""How long a caller counts as having just been given a memory."""
BUSY_TIMEOUT_MS = 200
"""A reader waits no longer than this to leave its trace."""
PURGE_EACH_MS = 60 * 1000
"""How often a process looks for traces that are too old."""
WAL_PAGES = 100
"""Pages of the write-ahead log that go into the file at once; whoever opens it reads that many."""

VERSION = 1
"""`PRAGMA user_version` of the file."""
SCHEMA = """
DROP TABLE IF EXISTS read_audit;
DROP TABLE IF EXISTS access;
CREATE TABLE IF NOT EXISTS given (
  memory_id TEXT NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL, last_at INTEGER NOT NULL,
  PRIMARY KEY (memory_id, day)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS recalled (
  caller TEXT NOT NULL, memory_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (caller, memory_id)) WITHOUT ROWID;
"""
"""`given` has a row for each day on which a memory was given. What `read_audit` kept was what was
asked: nothing of a question is kept any more; `access` had no days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One read: who was given which rows (kind, key) at `at` (UTC ms) by which tool.

    `caller` is who for the guard of what was just recalled; None where the rows are not counted.
    `writes` is (number, link) of where the chain of writes stood on the disk then, if that is sure.
    """

    at: int
    actor: str | None
    tool: str
    rows: tuple[tuple[str, str], ...]
    caller: str | None = None
    writes: tuple[int, bytes] | None = None


class ReadAuditor(Protocol):
    """Who keeps the chain of reads."""

    def prepare(self, db: apsw.Connection) -> None:
        """Make the tables of the chain where they are not there yet."""
        ...

    def append_read(
        self, db: apsw.Connection, replica_id: bytes, trace: Trace, lost_before: int
    ) -> None:
        """Append one read, inside a write transaction. Raises CryptoError, apsw.Error.

        `lost_before` counts the reads before it that could not be appended.
        """
        ...


class Activity:
    """The side database of one home; every method is one short transaction."""

    def __init__(
        self, home: Path, auditor: ReadAuditor | None = None, replica_id: bytes = b""
    ) -> None:
        """With an `auditor`, reads are appended to its chain under this replica's id."""
        self.path = home / ACTIVITY_FILE
        self._auditor = auditor
        self._replica_id = replica_id
        self._failures = 0
        self._lost = 0
        self._last_failure = ""
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self._audits = False
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

    def record(self, trace: Trace) -> bool:
        """Leave a trace of one read. Whether it could be written."""
        with self._lock:
            return self._kept(trace)

    def record_soon(self, trace: Trace) -> None:
        """Like `record`, beside what the caller does next; all other methods wait for it."""
        self._lock.acquire()
        try:
            _thread.start_new_thread(self._keep_and_release, (trace,))
        except RuntimeError:  # no more threads are to be had: then now
            self._keep_and_release(trace)

    def wait(self) -> None:
        """Return when every trace that was to be left soon is left."""
        with self._lock:
            pass

    def _keep_and_release(self, trace: Trace) -> None:
        try:
            self._kept(trace)
        finally:
            self._lock.release()

    def _kept(self, trace: Trace) -> bool:
        """With the lock. The next read that can be kept tells how many before could not."""
        try:
            self._write(self._open(), trace)
        except (apsw.Error, OSError, CryptoError) as error:
            # Said by doctor: a read is not refused because its trace cannot be kept.
            self._failed(error)
            self._lost += 1
            return False
        self._lost = 0
        return True

    def _write(self, db: apsw.Connection, trace: Trace) -> None:
        auditor = self._audited(db)
        db.execute("BEGIN IMMEDIATE")
        try:
            if auditor is not None:
                auditor.append_read(db, self._replica_id, trace, self._lost)
            if trace.caller is not None:
                _count(db, trace.caller, [key for _, key in trace.rows], trace.at)
            if self._purged_at is None or abs(trace.at - self._purged_at) >= PURGE_EACH_MS:
                db.execute("DELETE FROM recalled WHERE at < ?", (trace.at - RECALL_KEPT_MS,))
                oldest = trace.at // DAY_MS - GIVEN_KEPT_DAYS
                db.execute("DELETE FROM given WHERE day < ?", (oldest,))
                self._purged_at = trace.at
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

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

    def given_since(self, caller: str, since: int) -> frozenset[str]:
        """All that the caller was given since `since` (UTC ms)."""
        found = self._read(
            "SELECT memory_id FROM recalled WHERE caller = ? AND at >= ?", (caller, since)
        )
        return frozenset(str(memory_id) for (memory_id,) in found)

    def given(self, caller: str, ids: Sequence[str], at: int) -> bool:
        """Note that these were just given to `caller`, without counting them. Whether it could."""
        return self._change(
            "INSERT INTO recalled(caller, memory_id, at) SELECT ?1, value, ?2 FROM json_each(?3)"
            " WHERE true ON CONFLICT(caller, memory_id) DO UPDATE SET at = excluded.at",
            (caller, at, json.dumps(list(ids))),
        )

    def not_given(self, caller: str) -> bool:
        """Forget what was given to `caller`: its context does not hold it any more."""
        return self._change("DELETE FROM recalled WHERE caller = ?1", (caller,))

    def access_counts(self, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Memory id -> (how often it was given, last time in UTC ms); others are left out."""
        found = self._read(
            "SELECT memory_id, sum(count), max(last_at) FROM given"
            " WHERE memory_id IN (SELECT value FROM json_each(?)) GROUP BY memory_id",
            (json.dumps(list(ids)),),
        )
        return {str(memory_id): (int(count), int(at)) for memory_id, count, at in found}

    def given_days(self, ids: Sequence[str], now_ms: int) -> Mapping[str, tuple[int, int]]:
        """Memory id -> (on how many days it was given, the start of the last, UTC ms).

        Only days before that of `now_ms` count, each once: so the numbers stand still all day long,
        whoever reads how often. Memories that were never given are left out.
        """
        found = self._read(
            "SELECT memory_id, count(*), max(day) FROM given"
            " WHERE memory_id IN (SELECT value FROM json_each(?)) AND day < ? GROUP BY memory_id",
            (json.dumps(list(ids)), now_ms // DAY_MS),
        )
        return {str(memory_id): (int(days), int(last) * DAY_MS) for memory_id, days, last in found}

    def _change(self, statement: str, parameters: tuple[str | int, ...]) -> bool:
        with self._lock:
            try:
                self._open().execute(statement, parameters)
            except (apsw.Error, OSError, CryptoError) as error:
                self._failed(error)
                return False
            return True

    def _read(self, query: str, parameters: tuple[str | int, ...]) -> list[Any]:
        with self._lock:
            try:
                return self._open().execute(query, parameters).fetchall()
            except (apsw.Error, OSError) as error:
                self._failed(error)
                return []

    def _open(self) -> apsw.Connection:
        if self._db is None:
            if not self.path.exists():  # whoever closes a file drops the locks of others on it
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            prepare(db)
            self._db, self._audits = db, False
        return self._db

    def _audited(self, db: apsw.Connection) -> ReadAuditor | None:
        """The auditor with its tables made, which most reads of this file do without."""
        if self._auditor is not None and not self._audits:
            self._auditor.prepare(db)
            self._audits = True
        return self._auditor


def prepare(db: apsw.Connection) -> None:
    """Set up a connection, and make the tables that are not there yet."""
    # A command reads once and ends: the disk is waited for every some reads, not at each.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.wal_autocheckpoint(WAL_PAGES)
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON").fetchall()
    made_by = db.execute("PRAGMA user_version").get
    if made_by > VERSION:  # told as any trouble of this file is: a reader goes on
        raise OSError(f"it was written by a newer satchel: its version is {made_by}, not {VERSION}")
    db.execute(SCHEMA)
    if made_by < VERSION:
        db.execute(f"PRAGMA user_version = {VERSION}")


def _count(db: apsw.Connection, caller: str, ids: Sequence[str], at: int) -> None:
    """Count these rows as given, and as given to this caller just now."""
    db.executemany(
        "INSERT INTO given(memory_id, day, count, last_at) VALUES(?, ?, 1, ?)"
        " ON CONFLICT(memory_id, day) DO UPDATE SET count = count + 1, last_at = excluded.last_at",
        [(memory_id, at // DAY_MS, at) for memory_id in ids],
    )
    db.executemany(
        "INSERT INTO recalled(caller, memory_id, at) VALUES(?, ?, ?)"
        " ON CONFLICT(caller, memory_id) DO UPDATE SET at = excluded.at",
        [(caller, memory_id, at) for memory_id in ids],
    )
