"""The side database of reads: it records, it forgets in time, and it never stops a reader."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from satchel.store.activity import AUDIT_KEPT_DAYS, DAY_MS, RECALL_KEPT_MS, Activity, ReadAudit

NOON_MS = 1_800_000_000_000


def test_a_read_leaves_its_trace(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        assert activity.record_read("ann", ["m1", "m2"], NOON_MS, tool="memory_search", query="q")
        assert activity.record_read("bob", ["m1"], NOON_MS + 1, tool="memory_get")
        assert activity.access_counts(["m1", "m3"]) == {"m1": (2, NOON_MS + 1)}
        assert activity.recalled("ann", ["m1", "m2", "m3"], NOON_MS) == {"m1", "m2"}
        assert activity.recalled("bob", ["m1", "m2"], NOON_MS + 2) == frozenset()
        assert activity.audit()[0] == ReadAudit(
            at=NOON_MS + 1, caller="bob", tool="memory_get", query=None, ids=("m1",)
        )
        assert stat.S_IMODE((tmp_path / "activity.db").stat().st_mode) == 0o600


def test_old_traces_go(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        activity.record_read("ann", ["m1"], NOON_MS, tool="t")
        later = NOON_MS + RECALL_KEPT_MS + 1
        activity.record_read("ann", ["m2"], later, tool="t")
        assert activity.recalled("ann", ["m1", "m2"], 0) == {"m2"}
        activity.record_read("ann", [], NOON_MS + AUDIT_KEPT_DAYS * DAY_MS + 1, tool="t")
        assert [entry.at for entry in activity.audit()] == [
            NOON_MS + AUDIT_KEPT_DAYS * DAY_MS + 1, later,
        ]  # fmt: skip


def test_a_reader_is_never_stopped(tmp_path: Path) -> None:
    (tmp_path / "activity.db").write_bytes(b"no database at all " * 100)
    with closing(Activity(tmp_path)) as activity:
        assert not activity.record_read("ann", ["m1"], NOON_MS, tool="t")
        assert activity.access_counts(["m1"]) == {}
        assert activity.failures == 2
        assert activity.last_failure


def test_a_held_lock_is_waited_for_a_moment_only(tmp_path: Path) -> None:
    Activity(tmp_path).record_read("ann", [], NOON_MS, tool="t")
    with closing(Activity(tmp_path)) as activity, closing(Activity(tmp_path)) as other:
        assert activity.record_read("ann", [], NOON_MS, tool="t")
        with other._open() as db:
            db.execute("INSERT INTO access VALUES('m', 1, 1)")
            assert not activity.record_read("ann", [], NOON_MS, tool="t")
        assert activity.record_read("ann", [], NOON_MS, tool="t")
    with closing(sqlite3.connect(tmp_path / "activity.db")) as db:
        assert db.execute("SELECT count(*) FROM read_audit").fetchone() == (3,)


def test_who_asks_waits_for_a_trace_that_is_being_written(tmp_path: Path) -> None:
    with closing(Activity(tmp_path)) as activity:
        for n in range(20):
            activity.record_read_soon("ann", ["m1"], NOON_MS + n, tool="t")
            assert activity.access_counts(["m1"]) == {"m1": (n + 1, NOON_MS + n)}
        activity.record_read_soon("ann", ["m2"], NOON_MS, tool="t")
    with closing(Activity(tmp_path)) as activity:
        assert activity.access_counts(["m2"]) == {"m2": (1, NOON_MS)}


def test_a_trace_that_fails_later_is_counted_too(tmp_path: Path) -> None:
    (tmp_path / "activity.db").mkdir()
    with closing(Activity(tmp_path)) as activity:
        activity.record_read_soon("ann", ["m1"], NOON_MS, tool="t")
        assert activity.failures == 1
        assert activity.last_failure
