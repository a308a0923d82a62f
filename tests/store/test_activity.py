"""The side database of reads: it records, it forgets in time, and it never stops a reader."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from satchel.store.activity import RECALL_KEPT_MS, Activity, Trace

NOON_MS = 1_800_000_000_000


def given(caller: str, *ids: str, at: int = NOON_MS) -> Trace:
    """A read that counts."""
    rows = tuple(("memory", one) for one in ids)
    return Trace(at=at, actor=caller, tool="t", rows=rows, caller=caller)


def test_a_read_leaves_its_trace(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        assert activity.record(given("ann", "m1", "m2"))
        assert activity.record(given("bob", "m1", at=NOON_MS + 1))
        assert activity.access_counts(["m1", "m3"]) == {"m1": (2, NOON_MS + 1)}
        assert activity.recalled("ann", ["m1", "m2", "m3"], NOON_MS) == {"m1", "m2"}
        assert activity.recalled("bob", ["m1", "m2"], NOON_MS + 2) == frozenset()
        assert stat.S_IMODE((tmp_path / "activity.db").stat().st_mode) == 0o600


def test_what_is_only_audited_is_not_counted(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        listed = Trace(at=NOON_MS, actor="ann", tool="t", rows=(("memory", "m1"),))
        assert activity.record(listed)
        assert activity.access_counts(["m1"]) == {}
        assert activity.recalled("ann", ["m1"], 0) == frozenset()


def test_old_traces_go(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        activity.record(given("ann", "m1"))
        activity.record(given("ann", "m2", at=NOON_MS + RECALL_KEPT_MS + 1))
        assert activity.recalled("ann", ["m1", "m2"], 0) == {"m2"}


def test_questions_that_an_older_program_kept_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "activity.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE read_audit(row INTEGER PRIMARY KEY, query TEXT)")
        db.execute("INSERT INTO read_audit(query) VALUES('where is the lighthouse')")
    with closing(Activity(tmp_path)) as activity:
        assert activity.record(given("ann", "m1"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'read_audit'").fetchall() == []
    assert b"lighthouse" not in path.read_bytes()


def test_a_reader_is_never_stopped(tmp_path: Path) -> None:
    (tmp_path / "activity.db").write_bytes(b"no database at all " * 100)
    with closing(Activity(tmp_path)) as activity:
        assert not activity.record(given("ann", "m1"))
        assert activity.access_counts(["m1"]) == {}
        assert activity.failures == 2
        assert activity.last_failure


def test_a_held_lock_is_waited_for_a_moment_only(tmp_path: Path) -> None:
    Activity(tmp_path).record(given("ann", "m1"))
    with closing(Activity(tmp_path)) as activity, closing(Activity(tmp_path)) as other:
        assert activity.record(given("ann", "m1"))
        with other._open() as db:
            db.execute("INSERT INTO given VALUES('m', 1, 1, 1)")
            assert not activity.record(given("ann", "m1"))
        assert activity.record(given("ann", "m1"))
        assert activity.access_counts(["m1"]) == {"m1": (3, NOON_MS)}


def test_who_asks_waits_for_a_trace_that_is_being_written(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        for n in range(20):
            activity.record_soon(given("ann", "m1", at=NOON_MS + n))
            assert activity.access_counts(["m1"]) == {"m1": (n + 1, NOON_MS + n)}
        activity.record_soon(given("ann", "m2"))
    with closing(Activity(tmp_path)) as activity:
        assert activity.access_counts(["m2"]) == {"m2": (1, NOON_MS)}


def test_a_trace_that_fails_later_is_counted_too(tmp_path: Path) -> None:
    (tmp_path / "activity.db").mkdir()
    with closing(Activity(tmp_path)) as activity:
        activity.record_soon(given("ann", "m1"))
        assert activity.failures == 1
        assert activity.last_failure
