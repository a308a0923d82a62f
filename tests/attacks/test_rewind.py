"""Attacks 6 and 19: the hub is set back to a backup; the replicas fill it again."""

from __future__ import annotations

import itertools
from contextlib import suppress

import pytest
from fix_files import put_back, saved
from fix_machines import DAY_MS, Fleet, Machine

from satchel.store import attempts
from satchel_sync.changes import Standing
from satchel_sync.errors import HubUnreachable
from satchel_sync.phases.handshake import EVENTS
from satchel_sync.tables import MEMORY

REWOUND, MOVED = EVENTS[Standing.REWOUND], EVENTS[Standing.MOVED]


def backup(fleet: Fleet) -> None:
    """A backup of the hub; it ends everybody's session."""
    hang_up(fleet)
    fleet.world.backup()


def rewind(fleet: Fleet) -> None:
    """Set the hub back to it."""
    hang_up(fleet)
    fleet.world.rewind()


def backed_up(fleet: Fleet) -> tuple[Machine, Machine]:
    """Two machines that hold a row, which is in the hub's backup."""
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    backup(fleet)
    return a, b


def one_edit_ahead(fleet: Fleet) -> tuple[Machine, Machine]:
    """Two machines that hold a row, which the first has edited since."""
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("x", "two")
    return a, b


def ends_with(fleet: Fleet, text: str) -> None:
    """Every machine gets this text, and nothing was a conflict."""
    fleet.quiet()
    assert [machine.text("x") for machine in fleet.machines.values()] == [text, text]
    assert fleet.journal() == []


def hang_up(fleet: Fleet) -> None:
    for machine in fleet.machines.values():
        machine.hub.close()


def epoch(fleet: Fleet) -> str:
    ((found,),) = fleet.world.psql().execute("SELECT epoch FROM satchel.tenant").fetchall()
    return str(found)


def due(machine: Machine) -> str:
    with machine.store.read() as db:
        return attempts.due(db)


def test_6_a_rewound_hub_is_filled_again_and_deletes_hold(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for key in ("kept", "edited", "deleted"):
        a.put(key, "one")
    fleet.quiet()
    before = epoch(fleet)
    backup(fleet)
    a.put("edited", "two")
    a.put("lost with the backup", "by a")
    a.delete(MEMORY, "deleted")
    b.put("b's, lost with the backup", "by b")
    fleet.quiet()
    rewind(fleet)
    for number in range(60):
        b.put(f"b-{number}", "pushes the sequence past a's cursor")
    report = b.sync()
    assert (report["exit"], report["identity"], report["reconcile_due"]) == (0, [REWOUND], None)
    assert epoch(fleet) != before
    opened = epoch(fleet)
    report = a.sync()
    assert report["exit"] == 0
    assert report["identity"] == [MOVED], "the hub is in another epoch by now"
    assert epoch(fleet) == opened, "one rewind, one epoch"
    fleet.quiet()
    for machine in (a, b):
        assert machine.text("deleted") is None
        assert machine.text("edited") == "two"
        assert machine.text("lost with the backup") == "by a"
        assert machine.text("b's, lost with the backup") == "by b"
        assert all(machine.text(f"b-{number}") for number in range(60))
    assert fleet.journal() == []


def test_6_a_machine_that_was_never_there_when_it_happened_loses_nothing(fleet: Fleet) -> None:
    a, b = fleet.pair()
    c = fleet.machine("c")
    a.put("x", "one")
    fleet.quiet()
    backup(fleet)
    c.put("c's", "by c, which was away afterwards")
    c.sync()
    rewind(fleet)
    a.put("x", "two")
    fleet.machines = {"a": a, "b": b}
    fleet.quiet()
    fleet.machines = {"a": a, "b": b, "c": c}
    c.clock.at_ms += 30 * DAY_MS
    assert c.sync()["exit"] == 0
    fleet.quiet()
    assert a.text("c's") == "by c, which was away afterwards"
    assert c.text("x") == "two"


def test_6_rows_that_only_others_wrote_are_relayed_and_logged(fleet: Fleet) -> None:
    """The writer's machine is gone; another one that holds its rows fills the hub."""
    a, b = fleet.pair()
    b.sync()
    backup(fleet)
    a.put("x", "by a machine that is lost")
    fleet.quiet()
    rewind(fleet)
    gone = fleet.machines.pop("a")
    assert b.sync()["identity"] == [REWOUND]
    c = fleet.machine("c")
    fleet.quiet()
    assert c.text("x") == "by a machine that is lost"
    found = fleet.world.psql().execute("SELECT kind, origin, rows FROM satchel.relayed").fetchall()
    assert ("memory", gone.store.replica_id, 1) in [(k, bytes(o), n) for k, o, n in found]
    gone.hub.close()
    gone.store.close()


@pytest.mark.parametrize("answer_lost", [False, True])
def test_6_what_is_due_survives_every_broken_call(fleet: Fleet, answer_lost: bool) -> None:
    a, b = backed_up(fleet)
    a.put("y", "after the backup")
    fleet.quiet()
    rewind(fleet)
    broken = 0
    for number in itertools.count(2):  # the first call is hello: before its answer nothing is known
        lossy = a.lossy(number, answer_lost=answer_lost)
        with suppress(HubUnreachable):
            a.sync(lossy)
        if lossy.calls < number:
            break
        broken += bool(due(a))
    assert broken > 5
    assert due(a) == ""
    fleet.quiet()
    assert b.text("y") == "after the backup"
    assert fleet.journal() == []


def test_6_nothing_happened_and_nothing_is_reported(fleet: Fleet) -> None:
    """Backups without a restore, hourly syncs, a vacuum: no identity event, one epoch."""
    a, b = fleet.pair()
    before = epoch(fleet)
    for number in range(4):
        a.put(f"x-{number}", "x")
        b.put("y", f"{number}")
        reports = [machine.sync() for machine in (a, b)]
        assert [report["identity"] for report in reports] == [[], []]
        backup(fleet)
    fleet.quiet()
    assert epoch(fleet) == before


@pytest.mark.parametrize("order", ["file first", "hub first"])
def test_6_hub_and_file_set_back_together_lose_no_write_of_others(fleet: Fleet, order: str) -> None:
    a, b = backed_up(fleet)
    a.put("between", "after the hub's backup")
    fleet.quiet()
    copy = saved(a)
    a.put("x", "two")
    b.put("b's", "by b")
    fleet.quiet()
    put_back(a, copy, noticed=False)
    rewind(fleet)
    for machine in (a, b) if order == "file first" else (b, a):
        assert machine.sync()["exit"] == 0
    fleet.quiet()
    assert a.text("between") == b.text("between") == "after the hub's backup"
    assert a.text("x") == b.text("x") == "two", "b had it"
    assert a.text("b's") == b.text("b's") == "by b"


@pytest.mark.parametrize("first", ["a", "b"])
def test_6_concurrent_edits_that_meet_in_a_reconcile_are_in_the_journal_once(
    fleet: Fleet, first: str
) -> None:
    a, b = backed_up(fleet)
    a.put("y", "so that both know more than the backup")
    fleet.quiet()
    a.put("x", "by a")
    b.clock.at_ms += 5_000
    b.put("x", "by b, later")
    rewind(fleet)
    for machine in (a, b) if first == "a" else (b, a):
        assert machine.sync()["exit"] == 0
    fleet.quiet()
    assert (a.text("x"), b.text("x")) == ("by b, later", "by b, later")
    assert fleet.journal() == [("memory", "x")]


def test_6_a_hub_set_back_twice_is_filled_twice(fleet: Fleet) -> None:
    a, b = backed_up(fleet)
    for number, events in enumerate(([REWOUND], [MOVED])):
        a.put(f"x-{number}", f"{number}")
        fleet.quiet()
        rewind(fleet)
        assert b.sync()["identity"] == events, "the second time it is in the epoch before"
        assert a.sync()["exit"] == 0
        fleet.quiet()
    assert (b.text("x-0"), b.text("x-1")) == ("0", "1")


def test_19_a_backup_taken_between_hello_and_push_is_found_when_it_is_restored(
    fleet: Fleet,
) -> None:
    a, _ = one_edit_ahead(fleet)
    lossy = a.lossy(99, answer_lost=False)
    lossy.meanwhile = lambda call: backup(fleet) if call == 1 else None
    report = a.sync(lossy)
    assert (report["exit"], report["identity"]) == (0, [])
    rewind(fleet)
    assert a.sync()["identity"] == [REWOUND], "its attempt is known, its token is not"
    ends_with(fleet, "two")


def test_19_a_push_whose_answer_was_lost_is_repeated_to_the_restored_hub(fleet: Fleet) -> None:
    """The writer has no proof that anything is gone, and needs none; who pulled it has."""
    a, b = one_edit_ahead(fleet)
    lossy = a.lossy(2, answer_lost=True)
    lossy.meanwhile = lambda call: backup(fleet) if call == 1 else None
    with pytest.raises(HubUnreachable):
        a.sync(lossy)
    b.sync()
    assert b.text("x") == "two"
    rewind(fleet)
    assert a.sync()["identity"] == []
    assert b.sync()["identity"] == [REWOUND]
    ends_with(fleet, "two")


def test_19_a_machine_that_only_pulled_since_the_backup_is_told_by_its_cursor(
    fleet: Fleet,
) -> None:
    a, b = one_edit_ahead(fleet)
    a.sync()
    lossy = b.lossy(99, answer_lost=False)
    lossy.meanwhile = lambda call: backup(fleet) if call == 1 else None
    report = b.sync(lossy)
    assert (report["kinds"]["memory"]["pulled"], report["kinds"]["memory"]["sent"]) == (1, 0)
    rewind(fleet)
    assert b.sync()["identity"] == [REWOUND]
    fleet.quiet()
    assert (a.text("x"), b.text("x")) == ("two", "two")
