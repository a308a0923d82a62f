"""Attack 10: clocks years wrong, standing still, stepping back, or set right before the sync."""

from __future__ import annotations

import itertools

import pytest
from fix_machines import DAY_MS, Fleet, Machine

from satchel.store import rows
from satchel_sync import clock as hlc_clock
from satchel_sync.tables import AGENT, Agent, Memory

YEAR_MS = 365 * DAY_MS


def last_hlc(machine: Machine) -> int:
    ((last,),) = machine.sql("SELECT last FROM clock")
    return int(last)


def test_10_two_years_ahead_60_days_behind_and_a_step_back_lose_nothing(fleet: Fleet) -> None:
    a, b = fleet.pair()
    c = fleet.machine("c")
    a.clock.at_ms += 2 * YEAR_MS
    b.clock.at_ms -= 60 * DAY_MS
    for number in range(10):
        for name, machine in fleet.machines.items():
            machine.put(f"{name}-{number}", f"by {name}")
            machine.put("shared", f"{number} by {name}")
        if number == 5:
            c.clock.at_ms -= 3 * DAY_MS
        if number % 3 == 2:
            for machine in fleet.machines.values():
                assert machine.sync()["exit"] == 0
    fleet.quiet()
    for machine in fleet.machines.values():
        for number, name in itertools.product(range(10), "abc"):
            assert machine.text(f"{name}-{number}") == f"by {name}"
    for name, machine in fleet.machines.items():
        machine.put("shared", f"the last word is {name}'s")
        machine.sync()
        fleet.quiet()
        assert {m.text("shared") for m in fleet.machines.values()} == {f"the last word is {name}'s"}


@pytest.mark.parametrize("years", [-10, 10])
def test_10_a_clock_ten_years_wrong_and_set_right_right_before_the_sync(
    fleet: Fleet, years: int
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    right_ms = a.clock.at_ms
    a.clock.at_ms += years * YEAR_MS
    for number in range(5):
        a.put("x", f"version {number}")
        a.put(f"x-{number}", f"{number}")
    a.clock.at_ms = right_ms
    assert a.sync()["exit"] == 0
    fleet.quiet()
    assert b.text("x") == "version 4", "an edit made after seeing a version beats it"
    assert [b.text(f"x-{number}") for number in range(5)] == [f"{n}" for n in range(5)]
    b.clock.at_ms += 1000
    b.put("x", "b, whose clock is right")
    fleet.quiet()
    assert a.text("x") == "b, whose clock is right"
    ahead = hlc_clock.pack(right_ms + hlc_clock.AHEAD_MS_MAX)
    assert max(last_hlc(machine) for machine in (a, b)) < ahead


def test_10_a_clock_that_is_wrong_during_the_sync_too_strands_nothing(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.clock.at_ms += YEAR_MS
    a.put("x", "from the future")
    report = a.sync()
    assert report["exit"] == 0
    assert abs(report["clock_offset_ms"] - YEAR_MS) < 60_000
    assert report["restamped"] == 1
    fleet.quiet()
    b.put("x", "b, whose clock is right")
    fleet.quiet()
    assert a.text("x") == "b, whose clock is right"
    assert fleet.journal() == []


def test_10_a_clock_that_goes_back_while_edits_go_on_keeps_their_order(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "0")
    for number in range(1, 30):
        a.clock.at_ms -= DAY_MS
        a.put("x", f"{number}")
        if number % 7 == 0:
            assert a.sync()["exit"] == 0
            assert b.sync()["exit"] == 0
            assert b.text("x") == f"{number}"
    fleet.quiet()
    assert b.text("x") == "29"
    assert fleet.journal() == []


def test_10_a_clock_that_stands_still_still_counts(fleet: Fleet) -> None:
    a, b = fleet.pair()
    for number in range(50):
        a.put("x", f"{number}")
        a.put(f"x-{number}", f"{number}")
    stamps = [stamp.hlc for stamp in a.versions()["memory"].values()]
    assert len(set(stamps)) == len(stamps)
    fleet.quiet()
    assert b.text("x") == "49"


def test_10_200_000_writes_in_one_millisecond_carry_over_the_counter(fleet: Fleet) -> None:
    """16 bits of counter are 65,536: three times over it, and the clock still runs forward."""
    a, b = fleet.pair()
    with a.store.write() as db:
        rows.insert(db, Agent(agent_id="x", description="0"))
    first = last_hlc(a)
    with a.store.write() as db:
        edits = ((f"{number}",) for number in range(1, 200_001))
        db.executemany("UPDATE agent SET description = ? WHERE agent_id = 'x'", edits)
    assert last_hlc(a) - first == 200_000, "one tick a write"
    assert hlc_clock.wall_ms(last_hlc(a)) == a.clock.at_ms + 3, "carried into the milliseconds"
    a.put("y", "one more")
    assert last_hlc(a) - first == 200_001
    fleet.quiet()
    assert b.sql("SELECT description FROM agent") == [("200000",)]
    with b.store.write() as db:
        rows.update(db, AGENT, "x", description="seen, so it wins")
    fleet.quiet()
    assert a.sql("SELECT description FROM agent") == [("seen, so it wins",)]


@pytest.mark.parametrize("hand_ms", [-5 * YEAR_MS, 5 * YEAR_MS])
def test_10_a_write_by_hand_under_a_wrong_clock(fleet: Fleet, hand_ms: int) -> None:
    """`sqlite3` by hand takes the time of the machine; the engine's own clock is another's."""
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.clock.at_ms += hand_ms
    with a.store.write() as db:
        rows.insert(db, Memory(id="y", content="by the engine", scope="org"))
    with a.store.write() as db:
        db.execute("UPDATE control SET wall_ms = NULL")
        db.execute("UPDATE memory SET content = 'by hand' WHERE id IN ('x', 'y')")
    assert a.sync()["exit"] == 0
    fleet.quiet()
    assert (b.text("x"), b.text("y")) == ("by hand", "by hand")
