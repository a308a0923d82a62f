"""A space that two machines make: it is its first maker's, whoever syncs first or changes more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_machines import Fleet
from fix_memory import seen_as
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from satchel.errors import NotFound
from satchel.memory import history, read, spaces
from satchel.memory.text import stored_list
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.first_made import stamp
from satchel.store.rows import FIRST_HLC_MAX, LOWEST_HLC
from satchel.syncing import conflicts

MINUTE_MS = 60_000
NOW_MS = 1_800_000_000_000
Taking = Callable[[Replica, str], object]

TAKINGS: dict[str, list[Taking]] = {
    "a grant": [lambda bob, name: spaces.grant(bob, name, ["bob"], right="write")],
    "a membership": [lambda bob, name: spaces.change_members(bob, name, add=["bob"])],
    "everyone": [lambda bob, name: spaces.grant(bob, name, ["*"], right="write")],
    "many changes": [
        lambda bob, name: spaces.change_members(bob, name, add=["bob", "cleo"]),
        lambda bob, name: spaces.grant(bob, name, ["zoe"]),
        lambda bob, name: spaces.revoke(bob, name, ["cleo", "zoe"]),
        lambda bob, name: spaces.grant(bob, name, ["*"], right="write", description="mine"),
    ],
    "a write first": [lambda bob, name: write(bob, f"Something of bob in {name}.", space=name)],
}


@pytest.fixture
def fleet(hub_world: HubWorld, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(hub_world, tmp_path)
    try:
        yield fleet
    finally:
        fleet.close()


@pytest.mark.parametrize("known_to", ["the hub", "ada alone", "the hub, and changed"])
def test_no_agent_takes_over_a_space_of_which_its_machine_has_not_heard(
    fleet: Fleet, known_to: str
) -> None:
    one, other = fleet.pair()
    ada, bob = seen_as(one.replica, "ada"), seen_as(other.replica, "bob")
    secrets = {}
    for name in TAKINGS:
        spaces.change_members(ada, name, add=["ada"])
        secrets[name] = write(ada, f"The formula of {name} is in drawer nine.", space=name).id
    if known_to != "ada alone":
        one.sync()
    if "changed" in known_to:
        for name in TAKINGS:
            spaces.grant(ada, name, ["dan"])
    other.clock.at_ms += MINUTE_MS
    for number in range(max(map(len, TAKINGS.values()))):
        for name, steps in TAKINGS.items():
            if number < len(steps):
                steps[number](bob, name)
        if known_to == "ada alone":  # bob's is at the hub before, and then changed further
            other.sync()
            other.clock.at_ms += MINUTE_MS
    fleet.quiet()

    for name, key in secrets.items():
        assert read.get(bob, [key])["items"] == [], name
        with pytest.raises(NotFound):
            spaces.get(bob, name)
        assert read.get(ada, [key])["items"], name
        assert stored_list(spaces.get(ada, name)["members"]) == ["ada"]
    for name in TAKINGS:  # what is ada's she gives on as before
        spaces.grant(ada, name, ["zoe"])
    fleet.quiet()
    for name, steps in TAKINGS.items():
        assert read.get(seen_as(other.replica, "zoe"), [secrets[name]])["items"]
        with pytest.raises(NotFound):
            steps[0](bob, name)
    lost = [one for one in conflicts.listed(other.replica) if one["kind"] == "space"]
    shown = [conflicts.show(other.replica, one["version"])["lost"]["written_at"] for one in lost]
    assert set(shown) <= {None}


def test_members_on_two_machines_change_it_and_the_later_stands(fleet: Fleet) -> None:
    one, other = fleet.pair()
    ada, bob = seen_as(one.replica, "ada"), seen_as(other.replica, "bob")
    spaces.change_members(ada, "lab", add=["bob"])
    fleet.quiet()
    spaces.grant(bob, "lab", ["cleo"])
    for agent in ("d", "e", "f"):
        spaces.grant(bob, "lab", [agent])
    for machine in (one, other):
        machine.clock.at_ms += 9 * MINUTE_MS
    spaces.change_members(ada, "lab", remove=["bob"])  # later than four changes that it never saw
    fleet.quiet()
    for machine in (one, other):
        assert spaces.get(machine.replica, "lab")["members"] == '["ada"]'
    events = history.history(one.replica, "lab", kind="space")["items"]
    assert [event["event"] for event in events] == ["update"] * 5 + ["created"]
    assert {event["actor"] for event in events} >= {"ada", "bob"}


def test_who_is_above_the_agents_is_not_bound_by_who_was_first(fleet: Fleet) -> None:
    one, other = fleet.pair()
    ada, boss = seen_as(one.replica, "ada"), seen_as(other.replica, "boss", role="supervisor")
    spaces.change_members(ada, "lab", add=["ada"])
    other.clock.at_ms += MINUTE_MS
    spaces.grant(boss, "lab", ["ada", "bob"], right="write")
    spaces.grant(boss, "agent:bob", ["ada"])
    fleet.quiet()
    assert stored_list(spaces.get(ada, "lab")["members"]) == ["boss"]
    assert write(seen_as(other.replica, "bob"), "Let in.", space="lab").outcome == "created"
    assert one.store.now_ms() < other.store.now_ms()


@examples(max_examples=60)
@given(
    first=st.integers(0, 8 * 10**12),
    later_s=st.integers(1, 10**9),
    mine=st.lists(st.integers(0, 10**12), max_size=5),
    theirs=st.lists(st.integers(0, 10**13), max_size=5),
)
def test_every_version_of_an_older_making_is_above_those_of_a_newer_one(
    first: int, later_s: int, mine: list[int], theirs: list[int]
) -> None:
    older, newer = [stamp(None, first)], [stamp(None, first + 1000 * later_s)]
    for versions, times in ((older, mine), (newer, theirs)):
        for at in times:
            versions.append(stamp(versions[-1], first + at))
            assert versions[-1] >= versions[-2]
    if newer[0] != older[0]:  # both after the year 2242
        assert max(newer) < min(older)
    assert min(newer) > LOWEST_HLC
    assert max(older) < FIRST_HLC_MAX < NOW_MS << 16


def test_within_one_making_the_later_change_is_above_more_changes() -> None:
    made = stamp(None, NOW_MS)
    many = made
    for _ in range(9):
        many = stamp(many, NOW_MS)
    assert stamp(made, NOW_MS + 10 * MINUTE_MS) > many > stamp(made, NOW_MS - 10 * MINUTE_MS) > made
    last = stamp(made, 1 << 62)
    assert stamp(last, NOW_MS) >= last
    assert stamp(last, NOW_MS) // (1 << 23) == made // (1 << 23)
