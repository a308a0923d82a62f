"""Tasks on two machines through a warehouse: lost claims are told once, whatever is killed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from fix_machines import Fleet, Machine
from fix_memory import seen_as

from satchel.memory.messages import messages
from satchel.memory.sessions import sessions
from satchel.memory.tasks import tasks
from satchel.replica import Replica
from satchel.syncing import conflicts
from satchel_sync.tables import TASK
from satchel_warehouse.endpoint import WarehouseHub

DYING = """
import os, signal, sys
from pathlib import Path
from satchel.store import applying, claims
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.session import sync
from satchel_warehouse.endpoint import WarehouseHub

class Dying:
    @staticmethod
    def settle(db, now_ms):
        assert claims.settle(db, now_ms), "the claim is lost in this pull"
        os.kill(os.getpid(), signal.SIGKILL)

applying.claims = Dying
with Store.open(Path(sys.argv[1]), durability="process") as store:
    sync(SqliteReplica(store), WarehouseHub(sys.argv[2]), SYSTEM_CLOCK)
"""
"""A sync that is killed when it has told of a lost claim and has not committed."""


def on(machine: Machine, agent: str | None) -> Replica:
    return seen_as(machine.replica, agent)


def meet(fleet: Fleet) -> None:
    """What either machine has reaches the other one."""
    for name in "aba":
        fleet.machine(name).sync()


def told(machine: Machine, agent: str) -> list[tuple[str | None, str, str]]:
    """(sender, title, content) of an agent's notifications on a machine."""
    items = messages.inbox(on(machine, agent), kind="notification", acked=True)["items"]
    return [(one["from_agent"], one["title"], one["content"]) for one in items]


def both_claim(fleet: Fleet) -> tuple[Machine, Machine, str]:
    """A task that ada claims on a, and then bob on b, neither knowing of the other."""
    a, b = fleet.pair()
    key = tasks.create(a.replica, "paint", space="lab")["id"]
    meet(fleet)
    tasks.claim(on(a, "ada"), key)
    b.clock.at_ms = a.clock.at_ms + 1
    tasks.claim(on(b, "bob"), key)
    return a, b, key


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_later_claim_wins_and_the_loser_is_told_once(fleet: Fleet, order: str) -> None:
    a, b, key = both_claim(fleet)
    for name in order * 2:
        fleet.machine(name).sync()
    fleet.quiet()
    assert told(a, "ada") == [("bob", "task_claim_lost", "paint: bob holds it now")]
    assert told(b, "bob") == []
    assert told(b, "ada") == told(a, "ada"), "and hears of it wherever it reads"
    assert [tasks.get(one.replica, key)["claimed_by"] for one in (a, b)] == ["bob", "bob"]
    # Its own copy of the claim is not lost: it is in the journal.
    assert ("task", key) in fleet.journal()
    # What comes later is no second loss.
    tasks.complete(on(b, "bob"), key, "red")
    messages.ack_all(on(a, "ada"))
    fleet.quiet()
    assert len(told(a, "ada")) == 1
    assert messages.inbox(on(b, "ada"))["unread"] == 0


def test_a_claim_beats_no_end_that_it_had_not_seen(fleet: Fleet) -> None:
    a, b, key = both_claim(fleet)
    tasks.complete(on(a, "ada"), key, "blue")
    fleet.quiet()
    assert tasks.get(b.replica, key)["result"] == "blue"
    assert told(b, "bob") == [("ada", "task_claim_lost", "paint: completed by ada")]
    assert told(a, "ada") == []


def test_a_claim_that_is_known_elsewhere_is_refused_there(fleet: Fleet) -> None:
    a, b = fleet.pair()
    key = tasks.create(a.replica, "paint", space="lab", priority=1)["id"]
    other = tasks.create(a.replica, "sweep", space="lab")["id"]
    tasks.claim(on(a, "ada"), key)
    meet(fleet)
    assert tasks.claim_next(on(b, "bob"))["task"]["id"] == other
    tasks.assign(b.replica, key, "bob")
    meet(fleet)
    assert told(a, "ada") == [(None, "task_claim_lost", "paint: assigned to bob")]
    assert told(b, "bob") == [(None, "task_assigned", "paint")]


def test_who_restores_a_lost_claim_takes_it_from_the_winner(fleet: Fleet) -> None:
    a, b, key = both_claim(fleet)
    fleet.quiet()
    conflicts.restore(a.replica, key)
    fleet.quiet()
    assert tasks.get(b.replica, key)["claimed_by"] == "ada"
    assert told(b, "bob") == [("ada", "task_claim_lost", "paint: ada holds it now")]
    assert len(told(a, "ada")) == 1


def test_told_once_though_the_sync_is_killed_while_it_tells(fleet: Fleet) -> None:
    dsn, first = fleet.world.login(), fleet.machine("a")
    first.hub.close()
    first.hub = WarehouseHub(dsn)
    a, b, key = both_claim(fleet)
    b.sync()
    program = [sys.executable, "-c", DYING, str(a.store.path), dsn]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    assert told(a, "ada") == []
    assert tasks.get(a.replica, key)["claimed_by"] == "ada", "both or neither"
    fleet.quiet()
    assert len(told(a, "ada")) == 1
    assert tasks.get(a.replica, key)["claimed_by"] == "bob"


def test_told_once_though_the_file_is_an_old_one_again(fleet: Fleet, tmp_path: Path) -> None:
    """Restored from a backup made before the loss: the same notification, not a second one."""
    a, b, _ = both_claim(fleet)
    saved = tmp_path / "saved.db"
    with closing(sqlite3.connect(a.store.path)) as db:
        db.execute("VACUUM INTO ?", (str(saved),))
    fleet.quiet()
    assert len(told(a, "ada")) == 1
    messages.ack_all(on(a, "ada"))
    fleet.quiet()
    a.store.close()
    a.hub.close()
    for name in ("-wal", "-shm"):
        a.store.path.with_name(a.store.path.name + name).unlink(missing_ok=True)
    saved.replace(a.store.path)
    del fleet.machines["a"]
    again = fleet.machine("a")
    fleet.quiet()
    assert len(told(again, "ada")) == len(told(b, "ada")) == 1


def test_assignment_and_end_are_told_across_machines(fleet: Fleet) -> None:
    a, b = fleet.pair()
    b.clock.at_ms = a.clock.at_ms + 1000
    boss, bob = on(a, "boss"), on(b, "bob")
    need = tasks.create(boss, "dig", owner="bob")["id"]
    key = tasks.create(boss, "plant", owner="bob", depends_on=[need], parent=need)["id"]
    meet(fleet)
    assert told(b, "bob") == [("boss", "task_assigned", "dig"), ("boss", "task_assigned", "plant")]
    assert [one["id"] for one in tasks.list_tasks(bob, ready=True)["items"]] == [need]
    assert tasks.claim_next(bob)["task"]["id"] == need
    tasks.assign(boss, key, "ann")
    meet(fleet)
    tasks.complete(bob, need, "a hole")
    meet(fleet)
    ann = on(a, "ann")
    assert told(a, "ann") == [("boss", "task_assigned", "plant"), (None, "task_ready", "plant")]
    assert tasks.claim_next(ann)["task"]["id"] == key
    tasks.fail(ann, key, "no seed")
    meet(fleet)
    ends = {("bob", "task_completed", "dig"), ("ann", "task_failed", "plant")}
    assert set(told(a, "boss")) == ends
    assert tasks.get(on(b, None), key)["result"] == "no seed"


def test_what_each_machine_changed_in_turn_is_all_there(fleet: Fleet) -> None:
    """Partial updates on either machine, with syncs between: no field is lost, none goes back."""
    a, b = fleet.pair()
    session = sessions.start(a.replica, agents=["ada"])["id"]
    key = tasks.create(a.replica, "t", description="d", session=session, scope="org")["id"]
    changes = [
        {"title": "new"}, {"priority": 3}, {"due_at": 7}, {"metadata": {"a": 1}},
        {"owner": "bob"}, {"result": "so far"}, {"clear": ["due"]},
    ]  # fmt: skip
    for n, change in enumerate(changes):
        machine = (a, b)[n % 2]
        machine.sync()
        machine.clock.at_ms = max(a.clock.at_ms, b.clock.at_ms) + 1
        tasks.update(machine.replica, key, **change)  # type: ignore[arg-type]
        machine.sync()
    fleet.quiet()
    shown = [tasks.get(one.replica, key) for one in (a, b)]
    expected = {
        "title": "new", "priority": 3, "due_at": None, "metadata": '{"a":1}', "owner_agent": "bob",
        "result": "so far", "description": "d", "session_id": session, "status": "pending",
    }  # fmt: skip
    assert shown[0] == shown[1]
    assert {name: shown[0][name] for name in expected} == expected
    assert fleet.journal() == []


def test_a_ring_of_parents_is_one_tree_on_both(fleet: Fleet) -> None:
    a, b = fleet.pair()
    p, q, leaf = (tasks.create(a.replica, name, space="lab")["id"] for name in ("p", "q", "leaf"))
    tasks.update(a.replica, leaf, parent=q)
    meet(fleet)
    tasks.update(a.replica, p, parent=q)
    b.clock.at_ms = a.clock.at_ms + 1
    tasks.update(b.replica, q, parent=p)
    meet(fleet)
    for key, cut in ((q, "cycle"), (p, None), (leaf, None)):
        assert [tasks.get(one.replica, key)["parent_cut"] for one in (a, b)] == [cut] * 2
    trees = [tasks.tree(one.replica, q) for one in (a, b)]
    assert json.dumps(trees[0]) == json.dumps(trees[1])
    assert {child["id"] for child in trees[0]["children"]} == {p, leaf}
    # The parent is deleted on one machine: what hung below it stands for itself on both.
    a.delete(TASK, q)
    meet(fleet)
    assert [tasks.get(one.replica, leaf)["parent_cut"] for one in (a, b)] == ["missing"] * 2
