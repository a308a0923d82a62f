"""Writes on two machines: what was replaced, said again or undone means the same on both."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fix_machines import Fleet, Machine
from fix_memory import TrigramEmbedder, seen_as

from satchel.errors import Conflict
from satchel.memory import change, read
from satchel.memory.write import write
from satchel.replica import Replica

OLD = "The nightly backup of the shop database is written to the north archive."
DENIED = "The nightly backup of the shop database is not written to the north archive."
REWORDED = "The nightly backup of the shop database is now written to the north archive."


def on(machine: Machine, agent: str | None = None) -> Replica:
    """A machine as this agent, with a warm embedder."""
    return replace(seen_as(machine.replica, agent), given_embedder=TrigramEmbedder())


def meet(fleet: Fleet) -> None:
    for name in "aba":
        fleet.machine(name).sync()


def current(machine: Machine) -> set[str]:
    return {one["id"] for one in read.list_memories(on(machine))["items"]}


def item(machine: Machine, key: str) -> dict[str, Any]:
    (found,) = read.get(on(machine), [key])["items"]
    return dict(found)


def test_what_one_machine_replaced_the_other_can_restore(fleet: Fleet) -> None:
    a, b = fleet.pair()
    old = write(on(a, "ada"), OLD, space="lab").id
    meet(fleet)
    a.clock.at_ms += 1000
    new = write(on(a, "ada"), DENIED, space="lab")
    assert new.superseded == [old]
    meet(fleet)
    assert current(b) == {new.id}
    b.clock.at_ms += 5000
    change.restore(on(b, "ada"), old)
    meet(fleet)
    assert current(a) == current(b) == {old, new.id}
    assert (item(a, new.id)["supersedes"], item(a, old)["retired_at"]) == (None, None)
    fleet.quiet()


def test_both_replace_the_same_one_and_nothing_is_lost(fleet: Fleet) -> None:
    a, b = fleet.pair()
    old = write(on(a, "ada"), OLD, space="lab").id
    meet(fleet)
    for machine, text, later in ((a, DENIED, 1000), (b, REWORDED, 2000)):
        machine.clock.at_ms += later
        assert write(on(machine, "ada"), text, space="lab").superseded == [old]
    meet(fleet)
    assert current(a) == current(b)
    assert len(current(a)) == 2
    a.clock.at_ms += 5000
    change.restore(on(a, "ada"), old)
    meet(fleet)
    assert len(current(b)) == 3
    fleet.quiet()


def test_a_voice_on_another_machine_counts_once(fleet: Fleet) -> None:
    a, b = fleet.pair()
    key = write(on(a, "ada"), OLD, space="lab").id
    meet(fleet)
    b.clock.at_ms += 1000
    assert write(on(b, "bob"), OLD, space="lab").outcome == "merged"
    meet(fleet)
    assert write(on(a, "bob"), OLD, space="lab").outcome == "exists"
    found = item(a, key)
    assert found["confidence"] == 0.75
    assert json.loads(found["metadata"]) == {"corroborated_by": [{"agent": "bob"}]}


def test_one_request_on_two_machines_makes_one_memory(fleet: Fleet) -> None:
    a, b = fleet.pair()
    old = write(on(a, "ada"), "v1", space="lab").id
    meet(fleet)
    made = set()
    for machine, later in ((a, 1000), (b, 2000)):
        machine.clock.at_ms += later
        made.add(change.supersede(on(machine, "ada"), old, "v2", request_id="r").id)
    meet(fleet)
    assert current(a) == current(b) == made
    assert len(made) == 1
    with pytest.raises(Conflict):
        change.supersede(on(b, "ada"), old, "v3", request_id="r")
    fleet.quiet()
