"""Attacks on the sync, on real SQLite files and a real Postgres; numbers as in docs/SYNC.md."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress

import pytest
from fix_machines import DAY_MS, Fleet, Machine

from satchel.memory import change
from satchel.memory.tasks import tasks
from satchel.memory.write import write
from satchel.store import rows
from satchel_sync.errors import HubUnreachable
from satchel_sync.tables import (
    EMBEDDING,
    MEMORY,
    SPACE,
    TASK,
    Embedding,
    Memory,
    Relationship,
    Task,
)


def test_1_rows_stamped_weeks_ago_reach_a_machine_that_syncs_every_hour(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.clock.at_ms -= 40 * DAY_MS
    for number in range(30):
        a.put(f"late-{number}", f"text {number}")
    for number in range(5):
        b.put(f"hourly-{number}", "x")
        assert b.sync()["exit"] == 0
    assert a.sync()["kinds"]["memory"]["accepted"] == 30
    b.sync()
    assert [f"text {number}" for number in range(30)] == [
        b.text(f"late-{number}") for number in range(30)
    ]
    fleet.quiet()


@pytest.mark.parametrize("answer_lost", [False, True])
def test_3_edits_in_flight_and_lost_replies_lose_nothing(fleet: Fleet, answer_lost: bool) -> None:
    a, b = fleet.pair()
    for number in range(10):
        a.put(f"row-{number}", "first")
    for break_at in range(1, 9):
        lossy = a.lossy(break_at, answer_lost=answer_lost)
        lossy.meanwhile = lambda call: a.put("row-3", f"in flight {call}") if call == 2 else None
        with suppress(HubUnreachable):
            a.sync(lossy)
        a.put("row-5", f"between {break_at}")
    fleet.quiet()
    assert (b.text("row-3"), b.text("row-5")) == ("in flight 2", "between 8")
    assert fleet.journal() == []


def test_3_a_retry_changes_no_count(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    a.put("x", "one")
    with pytest.raises(HubUnreachable):
        a.sync(a.lossy(2, answer_lost=True))
    before = fleet.world.psql().execute("SELECT id, change_seq FROM satchel.memory").fetchall()
    assert a.sync()["exit"] == 0
    after = fleet.world.psql().execute("SELECT id, change_seq FROM satchel.memory").fetchall()
    assert before == after


ORDERS = list(itertools.permutations(["a", "b", "a+"]))
"""Syncs of a (with the delete), b (with the edit) and a again, in all six orders."""


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_8_a_delete_beats_a_later_edit_that_had_not_seen_it(
    fleet: Fleet, order: tuple[str, ...]
) -> None:
    a, b = fleet.pair()
    a.put("x", "first")
    fleet.quiet()
    a.delete(MEMORY, "x")
    b.clock.at_ms += DAY_MS
    b.put("x", "edited a day later")
    for name in order:
        fleet.machine(name[0]).sync()
    fleet.quiet()
    assert (a.text("x"), b.text("x")) == (None, None)
    assert ("memory", "x") in fleet.journal()
    change.restore(a.replica, "x")
    fleet.quiet()
    assert (a.text("x"), b.text("x")) == ("first", "first")


def test_9_rows_that_cannot_travel_are_named_and_the_rest_arrives(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("good-1", "fine too")
    with a.store.write() as db:
        vector = b"\x00\x00\xc0\x7f" * 4
        rows.insert(db, Embedding(id="nan", memory_id="good-1", dims=4, dtype="f32", vector=vector))
        rows.insert(db, Memory(id="nul", content="x", scope="org"))
        db.execute("UPDATE memory SET content = 'a' || char(0) || 'b' WHERE id = 'nul'")
        rows.insert(db, Memory(id="surrogate", content="x", scope="org"))
        db.execute("UPDATE memory SET content = CAST(x'61EDA080' AS TEXT) WHERE id = 'surrogate'")
    for number in range(20):
        a.put(f"good-{number}", "fine too")
    first, second = a.sync(), a.sync()
    assert (first["exit"], second["exit"]) == (11, 11)
    assert second["kinds"]["memory"]["sent"] == 0, "a quarantined row is not tried again"
    held = a.sql("SELECT kind, key FROM quarantine ORDER BY kind, key")
    assert held == [("embedding", "nan"), ("memory", "nul"), ("memory", "surrogate")]
    b.sync()
    assert all(b.text(f"good-{number}") == "fine too" for number in range(20))
    assert (b.text("nul"), b.text("surrogate")) == (None, None)


def test_9_a_quarantined_row_travels_once_it_is_mended(fleet: Fleet) -> None:
    a, b = fleet.pair()
    with a.store.write() as db:
        rows.insert(db, Memory(id="nul", content="x" + "\0", scope="org"))
    assert a.sync()["exit"] == 11
    a.put("nul", "mended")
    assert a.sync()["exit"] == 0
    b.sync()
    assert b.text("nul") == "mended"


def test_9_one_key_three_times_in_a_batch_counts_as_its_highest(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "1")
    store_rows = []
    for text in ("2", "3"):
        with a.store.read() as db:
            from satchel.store import outbox

            store_rows.append(outbox.row(db, MEMORY, "x"))
        a.put("x", text)
    with a.store.read() as db:
        store_rows.append(outbox.row(db, MEMORY, "x"))
    from satchel.store.endpoint import SqliteReplica

    a.hub.hello(SqliteReplica(a.store).hello())
    answer = a.hub.push(MEMORY, [row for row in reversed(store_rows) if row])
    assert answer.accepted == ("x",)
    b.sync()
    assert b.text("x") == "3"


def test_11_parents_that_make_a_ring_are_cut_the_same_on_every_machine(fleet: Fleet) -> None:
    a, b = fleet.pair()
    p, q, child = (f"{number:08x}-0000-7000-8000-000000000000" for number in range(3))
    for key in (p, q, child):
        _task(a, key, parent=q if key == child else None)
    fleet.quiet()
    _move(a, p, under=q)
    b.clock.at_ms += 1000
    _move(b, q, under=p)
    fleet.quiet()
    views = [json.dumps(tasks.tree(machine.replica, q), sort_keys=True) for machine in (a, b)]
    assert views[0] == views[1]
    assert all(key in views[0] for key in (p, q, child)), "the later link is the one that is cut"


def test_11_edges_and_children_may_arrive_before_their_ends(fleet: Fleet) -> None:
    a, b = fleet.pair()
    with a.store.write() as db:
        rows.insert(db, Relationship(id="edge", from_id="m1", to_id="m2", type="about"))
        rows.insert(db, Task(id="child", title="c", status="pending", parent_id="nobody"))
    a.sync()
    b.sync()
    assert b.sql("SELECT id FROM relationship") == [("edge",)]
    assert b.sql("SELECT id FROM task") == [("child",)]
    for key in ("m1", "m2"):
        a.put(key, key)
    fleet.quiet()


def test_15_a_task_that_was_deleted_stays_deleted_when_another_completes_it(fleet: Fleet) -> None:
    a, b = fleet.pair()
    _task(a, "t")
    fleet.quiet()
    a.delete(TASK, "t")
    b.clock.at_ms += DAY_MS
    with b.store.write() as db:
        rows.update(db, TASK, "t", status="completed")
    for machine in (b, a, b):
        machine.sync()
    fleet.quiet()
    for machine in (a, b):
        with machine.store.read() as db:
            assert rows.get(db, TASK, "t") is None


def test_14_a_clock_set_right_before_the_sync_strands_nothing(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.clock.at_ms += 365 * DAY_MS
    for number in range(5):
        a.put(f"x-{number}", f"text {number}")
        a.put("again", f"version {number}")
    a.clock.at_ms -= 365 * DAY_MS
    report = a.sync()
    assert (report["exit"], report["restamped"]) == (0, 10), "six memories, four history rows"
    fleet.quiet()
    assert [f"text {n}" for n in range(5)] == [b.text(f"x-{n}") for n in range(5)]
    b.put("again", "b's word, by a right clock")
    fleet.quiet()
    assert a.text("again") == "b's word, by a right clock"


def test_14_a_hub_whose_clock_ran_ahead_for_a_day_strands_nothing(fleet: Fleet) -> None:
    a, b = fleet.pair()
    psql = fleet.world.psql()
    psql.execute("UPDATE satchel.hub SET clock_correction_ms = %s", (DAY_MS,))
    a.put("x", "first")
    a.sync()
    psql.execute("UPDATE satchel.memory SET content = 'by the hub, a day ahead' WHERE id = 'x'")
    b.sync()
    psql.execute("UPDATE satchel.hub SET clock_correction_ms = 0")
    b.put("x", "b builds on it")
    fleet.quiet()
    assert (a.text("x"), b.text("x")) == ("b builds on it", "b builds on it")


def test_edits_by_psql_and_deletes_by_psql_travel(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for key in ("edited", "deleted"):
        a.put(key, "first")
    fleet.quiet()
    psql = fleet.world.psql()
    psql.execute("UPDATE satchel.memory SET content = 'by hand' WHERE id = 'edited'")
    psql.execute("DELETE FROM satchel.memory WHERE id = 'deleted'")
    fleet.quiet()
    assert (b.text("edited"), b.text("deleted")) == ("by hand", None)


def test_hand_made_damage_is_found_by_the_digest_and_repaired(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for key in ("x", "y", "z"):
        a.put(key, key)
    fleet.quiet()
    with b.store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("DELETE FROM memory WHERE id = 'y'")
        db.execute("UPDATE control SET applying = 0")
        db.execute("UPDATE clock SET seq = seq + 1")
    assert b.text("y") is None
    assert b.sync()["digest"] == "repaired"
    assert b.text("y") == "y"
    fleet.quiet()


def test_local_rows_never_leave(fleet: Fleet) -> None:
    a, b = fleet.pair()
    with a.store.write() as db:
        rows.insert(db, Memory(id="secret", content="stays here", scope="org", local=1))
        rows.insert(
            db, Embedding(id="e", memory_id="secret", dims=1, dtype="f32", vector=b"\0" * 4)
        )
        rows.insert(db, Relationship(id="r", from_id="secret", to_id="m", type="about"))
    a.put("m", "travels")
    with a.store.write() as db:
        rows.update(db, MEMORY, "secret", content="edited, stays here")
        rows.delete(db, MEMORY, "secret")
    fleet.quiet()
    everything = fleet.world.psql().execute("SELECT id FROM satchel.memory").fetchall()
    assert everything == [("m",)]
    for kind in ("embedding", "relationship", "history"):
        found = fleet.world.psql().execute(f"SELECT count(*) FROM satchel.{kind}".encode())
        assert found.fetchone() == (0,), kind
    assert b.sql("SELECT count(*) FROM history") == [(0,)]
    assert EMBEDDING.name not in {kind for kind, _ in fleet.journal()}


def _task(machine: Machine, key: str, parent: str | None = None) -> None:
    with machine.store.write() as db:
        rows.insert(db, Task(id=key, title=key, status="pending", parent_id=parent, scope="org"))


def _move(machine: Machine, key: str, *, under: str) -> None:
    with machine.store.write() as db:
        assert rows.update(db, TASK, key, parent_id=under)


def test_a_first_use_never_opens_a_space_that_another_machine_closed(fleet: Fleet) -> None:
    a, b = fleet.pair()
    write(a.replica, "for members only", space="board")
    with a.store.write() as db:
        rows.update(db, SPACE, "board", members='["ann"]')
    b.clock.at_ms += DAY_MS
    write(b.replica, "a machine that has never heard of it", space="board")
    for machine in (a, b, a):
        machine.sync()
    fleet.quiet()
    for machine in (a, b):
        assert machine.sql("SELECT members FROM space") == [('["ann"]',)]
    assert fleet.journal() == []


def test_the_lowest_version_that_nobody_wrote_is_no_stranger(fleet: Fleet) -> None:
    """A first use of a space, on a hub that was asked for no reconcile."""
    a, b = fleet.pair()
    fleet.quiet()
    for machine in (a, b):
        write(machine.replica, f"of {machine.store.replica_id.hex()}", space="library")
        assert machine.sync()["exit"] == 0
    fleet.quiet()
