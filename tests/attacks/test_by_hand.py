"""Attacks on a fleet by hands: rows that are no text, keys that are local, deletions elsewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fix_machines import DAY_MS, Fleet, Machine

from satchel.errors import Refused
from satchel.memory import change, read
from satchel.memory.history import history
from satchel.memory.search.search import search
from satchel.memory.write import write
from satchel.store import rows
from satchel_sync.tables import MEMORY, Memory

NUMBERS = [c.name for c in MEMORY.columns if c.tag in ("i", "r") and c.name != "local"]
NO_TEXT = "UPDATE memory SET content = CAST(x'61EDA080' AS TEXT) WHERE id = 'x'"


def test_a_row_that_is_no_text_loses_and_the_sync_goes_on(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    with a.store.write() as db:
        db.execute(NO_TEXT)
    assert a.sync()["exit"] == 11
    b.clock.at_ms += 60_000
    b.put("x", "edited on b")
    b.put("other", "new")
    b.sync()
    assert a.sync()["conflicts"] == 1
    fleet.quiet()
    assert (a.text("x"), a.text("other")) == ("edited on b", "new")
    assert fleet.journal() == [("memory", "x")]


def test_a_row_that_is_no_text_hides_no_other(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.put("x", "zebra one")
    a.put("y", "zebra two")
    with a.store.write() as db:
        db.execute("UPDATE memory SET title = CAST(x'61EDA080' AS TEXT) WHERE id = 'x'")
    assert len(read.list_memories(a.replica)["items"]) == 2
    assert len(search(a.replica, "zebra").hits) == 2


@pytest.mark.parametrize("column", NUMBERS)
def test_a_number_that_is_none_hides_no_other_row(fleet: Fleet, column: str) -> None:
    a = fleet.machine("a")
    a.put("x", "zebra one")
    a.put("y", "zebra two")
    with a.store.write() as db:
        db.execute(f"UPDATE memory SET {column} = 'abc' WHERE id = 'x'")
    assert len(read.list_memories(a.replica, superseded=True)["items"]) == 2
    assert "y" in [hit.id for hit in search(a.replica, "zebra").hits]
    report = a.sync()
    assert (report["exit"], report["kinds"]["memory"]["accepted"]) == (11, 1)
    assert a.sql("SELECT key, column FROM quarantine") == [("x", column)]
    assert a.sql(f"SELECT {column} FROM memory WHERE id = 'x'") == [("abc",)]


@pytest.mark.parametrize("deleted", [False, True])
def test_a_local_key_that_the_hub_has_stops_nothing(fleet: Fleet, deleted: bool) -> None:
    a, b = fleet.pair()
    with a.store.write() as db:
        rows.insert(db, Memory(id="x", content="secret", scope="org", local=1))
    if deleted:
        a.delete(MEMORY, "x")
    b.put("x", "under the same key")
    b.put("y", "hello")
    for machine in (b, a):
        machine.sync()
    reports = [machine.sync() for machine in (a, b)]
    assert [(report["exit"], report["digest"]) for report in reports] == [(0, "equal")] * 2
    assert (a.text("x"), a.text("y")) == (None if deleted else "secret", "hello")
    assert b.text("x") == "under the same key"


def test_a_restore_brings_back_what_was_deleted_last_whatever_the_clock_said(fleet: Fleet) -> None:
    a, b = fleet.pair()
    key = write(a.replica, "old text", scope="org").id
    a.clock.at_ms += 365 * DAY_MS
    change.delete(a.replica, key, confirm=True)
    change.restore(a.replica, key)
    a.clock.at_ms -= 365 * DAY_MS
    change.update(a.replica, key, text="new text")
    change.delete(a.replica, key, confirm=True)
    fleet.quiet()
    assert change.restore(b.replica, key)["content"] == "new text"


def test_a_restore_never_brings_back_an_older_text(fleet: Fleet) -> None:
    a, b = fleet.pair()
    key = write(a.replica, "first", scope="org").id
    change.delete(a.replica, key, confirm=True)
    change.restore(a.replica, key)
    change.update(a.replica, key, text="second")
    fleet.quiet()
    fleet.world.psql().execute("DELETE FROM satchel.memory")
    fleet.quiet()
    with pytest.raises(Refused, match="is not known here"):
        change.restore(b.replica, key)
    assert history(b.replica, key)["items"][0]["changes"]["content"] == ["first", "second"]


def test_a_delete_by_hand_is_told_and_undone_at_once(fleet: Fleet) -> None:
    a = fleet.machine("a")
    key = write(a.replica, "keep me").id
    for undo in (history, change.restore):
        by_hand(a, f"DELETE FROM memory WHERE id = '{key}'")
        assert undo(a.replica, key)
    assert a.text(key) == "keep me"


def by_hand(machine: Machine, statement: str) -> None:
    """Run a statement under Python's own SQLite, which must be in another process."""
    script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]);"
    command = [sys.executable, "-c", script + "db.commit()", str(machine.store.path), statement]
    subprocess.run(command, check=True)
