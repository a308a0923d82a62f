"""What a report says of a repair, of a sync that stopped, and of a look that must not write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fix_sync import FakeClock, World, memory_values

from satchel_sync.changes import Page, PushAnswer, Row
from satchel_sync.checkup import check
from satchel_sync.errors import HubUnreachable
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.rows import Rows
from satchel_sync.session import sync
from satchel_sync.tables import MEMORY, Table
from satchel_sync.tally import Tally


def world_with_a_row_the_hub_lost() -> World:
    """The hub has lost a row that was pushed, and no cursor can tell."""
    world = World.of(1)
    (replica,) = world.replicas
    for key in ("kept", "lost"):
        replica.put(MEMORY, key, memory_values(key))
    sync(replica, world.hub, replica.clock)
    left = Rows("memory")
    left["kept"] = world.hub.state.rows["memory"]["kept"]
    world.hub.state.rows["memory"] = left
    del world.hub.state.seqs["memory"]["lost"]
    return world


def test_a_repair_is_said_to_be_one_after_a_second_look() -> None:
    world = world_with_a_row_the_hub_lost()
    (replica,) = world.replicas
    report = sync(replica, world.hub, replica.clock)
    assert (report["digest"], report["repaired"]) == ("repaired", {"memory": ["lost"]})
    assert replica.cursor(MEMORY) == world.hub.state.bound()["memory"]
    assert sync(replica, world.hub, replica.clock)["noop"]


class Forgetful(MemoryHub):
    """A hub that says yes to every push and keeps nothing of it."""

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        return PushAnswer(accepted=tuple(row.key for row in rows), now_ms=self.clock.now_ms())


def test_what_still_differs_after_a_repair_is_named_and_no_success() -> None:
    world = world_with_a_row_the_hub_lost()
    (replica,) = world.replicas
    report = sync(replica, Forgetful(world.hub.clock, world.hub.state), replica.clock)
    assert (report["digest"], report["exit"]) == ("different", 1)
    assert (report["repaired"], report["different"]) == ({}, {"memory": ["lost"]})


class Cut(MemoryHub):
    """A hub whose line is cut at the first pull."""

    def pull(self, table: Table, after: int, upto: int) -> Page:
        raise HubUnreachable("the line is cut")


def test_the_report_of_a_sync_that_stopped_tells_what_waits_and_what_is_due() -> None:
    world = World.of(2)
    writer, reader = world.replicas
    writer.put(MEMORY, "m", memory_values("text"))
    sync(writer, world.hub, writer.clock)
    sync(reader, world.hub, reader.clock)
    reader.file.kinds["memory"].quarantine["bad"] = "for the test"
    writer.put(MEMORY, "m", memory_values("another text"))
    sync(writer, world.hub, writer.clock)
    with pytest.raises(HubUnreachable):
        sync(reader, Cut(world.hub.clock, world.hub.state), reader.clock)
    (*_, report) = reader.file.reports
    assert (report["exit"], report["quarantined"]) == (10, 1)
    assert report["error"]["code"] == "hub_unreachable"


class Watched(MemoryHub):
    """A hub that must not be written to."""

    def journal(self, losers: Sequence[object]) -> None:
        raise AssertionError("a look hands no journal over")

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        raise AssertionError("a look pushes nothing")


def test_a_look_without_repair_sends_nothing() -> None:
    world = World.of(2)
    one, other = world.replicas
    for replica in world.replicas:
        sync(replica, world.hub, replica.clock)
    one.put(MEMORY, "m", memory_values("one"))
    assert isinstance(other.clock, FakeClock)
    other.clock.ms += 1000
    other.put(MEMORY, "m", memory_values("other"))
    sync(other, world.hub, other.clock)
    sync(one, world.hub, one.clock)
    one.file.losers_sent.clear()
    assert one.losers()
    report = check(one, Watched(world.hub.clock, world.hub.state), one.clock, repairing=False)
    assert report["digest"] == "equal"
    assert one.losers()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({}, 0),
        ({"held_back": 1}, 11),
        ({"failed": {"task": "unknown there"}}, 13),
        ({"access": "read_only"}, 13),
        ({"damaged": {"task": ["t"]}, "failed": {"task": "unknown there"}}, 1),
        ({"digest": "different", "held_back": 1}, 1),
        ({"due": "rewound", "digest": "different"}, 12),
        ({"due": "rewound", "access": "read_only"}, 13),
        ({"due": "rewound", "failed": {"task": "unknown there"}}, 13),
    ],
    ids=str,
)
def test_the_exit_code_is_that_of_what_helps_most(said: dict[str, Any], code: int) -> None:
    assert Tally(**said).exit == code
