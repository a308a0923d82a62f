"""What `sync verify` finds that no cursor and no kept sum tells."""

from __future__ import annotations

import pytest
from fix_machines import DAY_MS, Fleet, Machine

from satchel.store.connection import SYSTEM_CLOCK
from satchel.store.endpoint import SqliteReplica
from satchel_sync.checkup import check


def checked(machine: Machine, *, repairing: bool = False) -> dict[str, object]:
    """A checkup of a machine."""
    return check(SqliteReplica(machine.store), machine.hub, SYSTEM_CLOCK, repairing=repairing)


def past_the_triggers(machine: Machine, statement: str) -> None:
    """A write that draws no local sequence."""
    with machine.store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute(statement)
        db.execute("UPDATE control SET applying = 0")


DAMAGE_HERE = {
    "gone": "DELETE FROM memory WHERE id = 'x'",
    "older": "UPDATE memory SET hlc = hlc - 1 WHERE id = 'x'",
    "newer": "UPDATE memory SET hlc = hlc + 1 WHERE id = 'x'",
    "content": "UPDATE memory SET content = 'damaged' WHERE id = 'x'",
}
DAMAGE_THERE = {
    "gone": "DELETE FROM satchel.memory WHERE id = 'x'",
    "older": "UPDATE satchel.memory SET hlc = hlc - 1 WHERE id = 'x'",
    "newer": "UPDATE satchel.memory SET hlc = hlc + 1 WHERE id = 'x'",
    "content": "UPDATE satchel.memory SET content = 'damaged' WHERE id = 'x'",
}


@pytest.mark.parametrize("what", DAMAGE_HERE)
def test_damage_of_a_replica_past_its_triggers_is_named_and_healed(fleet: Fleet, what: str) -> None:
    a, b = fleet.pair()
    for key in "xyz":
        a.put(key, f"text of {key}")
    fleet.quiet()
    with a.store.write() as db:
        db.execute("DROP TRIGGER IF EXISTS memory_delete")
    past_the_triggers(a, DAMAGE_HERE[what])
    found = checked(a)
    named = {**found["damaged"], **found["different"]}  # type: ignore[dict-item]
    assert (found["exit"], named) == (1, {"memory": ["x"]})
    healed = checked(a, repairing=True)
    assert (healed["exit"], healed["repaired"]) == (0, {"memory": ["x"]})
    assert (a.text("x"), checked(a)["exit"]) == ("text of x", 0)
    b.sync()
    assert b.text("x") == "text of x"


@pytest.mark.parametrize("what", DAMAGE_THERE)
def test_damage_of_the_hub_past_its_triggers_is_named_and_healed(fleet: Fleet, what: str) -> None:
    a, b = fleet.pair()
    for key in "xyz":
        a.put(key, f"text of {key}")
    fleet.quiet()
    with fleet.world.psql() as psql:
        psql.execute("ALTER TABLE satchel.memory DISABLE TRIGGER USER")
        psql.execute(DAMAGE_THERE[what].encode())
        psql.execute("ALTER TABLE satchel.memory ENABLE TRIGGER USER")
    found = checked(a)
    named = {**found["damaged"], **found["different"]}  # type: ignore[dict-item]
    assert (found["exit"], named) == (1, {"memory": ["x"]})
    healed = checked(a, repairing=True)
    assert (healed["exit"], healed["repaired"]) == (0, {"memory": ["x"]})
    assert checked(a)["exit"] == 0
    b.sync()
    assert (a.text("x"), b.text("x")) == ("text of x", "text of x")


def test_a_row_that_is_damaged_on_both_sides_is_named_and_left(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    a.put("x", "text")
    fleet.quiet()
    past_the_triggers(a, DAMAGE_HERE["content"])
    with fleet.world.psql() as psql:
        psql.execute("ALTER TABLE satchel.memory DISABLE TRIGGER USER")
        psql.execute(DAMAGE_THERE["content"].encode())
        psql.execute("ALTER TABLE satchel.memory ENABLE TRIGGER USER")
    told = checked(a, repairing=True)
    assert (told["exit"], told["damaged"]) == (1, {"memory": ["x"]})
    a.put("x", "written anew")
    assert (a.sync()["exit"], checked(a)["exit"]) == (0, 0)


def test_a_dead_row_that_holds_something_on_both_sides_is_emptied(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "text")
    fleet.quiet()
    with a.store.write() as db:
        db.execute("DELETE FROM memory WHERE id = 'x'")
    fleet.quiet()
    past_the_triggers(a, DAMAGE_HERE["content"])
    with fleet.world.psql() as psql:
        psql.execute("ALTER TABLE satchel.memory DISABLE TRIGGER USER")
        psql.execute(DAMAGE_THERE["content"].encode())
        psql.execute("ALTER TABLE satchel.memory ENABLE TRIGGER USER")
    assert checked(a)["damaged"] == {"memory": ["x"]}
    told = checked(a, repairing=True)
    assert (told["exit"], told["damaged"], told["repaired"]) == (0, {}, {"memory": ["x"]})
    b.sync()
    assert (a.text("x"), b.text("x")) == (None, None)


def test_a_plain_sync_finds_within_a_day_what_was_written_past_the_triggers(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    for key in "xyz":
        a.put(key, f"text of {key}")
    fleet.quiet()
    with a.store.write() as db:
        db.execute("DROP TRIGGER IF EXISTS memory_delete")
    past_the_triggers(a, DAMAGE_HERE["gone"])
    a.clock.at_ms += DAY_MS
    assert a.sync()["repaired"] == {"memory": ["x"]}
    assert a.text("x") == "text of x"
