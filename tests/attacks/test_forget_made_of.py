"""What was made of a forgotten memory on a machine that had not heard: versions and summaries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from fix_machines import Fleet, Machine
from fix_memory import seen_as
from fix_traces import SECRET, hub_traces, traces

from satchel.memory import chatlog, forget, promotion, spaces
from satchel.memory.sessions import sessions
from satchel.memory.write import write
from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import mark

ORDERS = sorted(set(itertools.permutations("aabb")))
THREE = ["abcabc", "cbacba", "bcabca", "bacbac"]


def is_scrubbed(machine: Machine, key: str, kind: str = "memory") -> bool:
    held = machine.sql(f"SELECT life, hlc FROM {kind} WHERE id = ?", key)
    return held == [(SCRUBBED.life, SCRUBBED.hlc)]


def synced(fleet: Fleet, order: Iterable[str]) -> None:
    for name in order:
        fleet.machine(name).sync()
    fleet.quiet()


def nowhere(fleet: Fleet) -> None:
    """The text is in no file of a machine and in no table of the hub."""
    for machine in fleet.machines.values():
        machine.store.close()
    left = {name: traces(machine) for name, machine in fleet.machines.items()}
    assert (left, hub_traces(fleet)) == ({name: [] for name in left}, [])


@pytest.mark.parametrize("order", [*map("".join, ORDERS), *THREE])
def test_a_version_made_elsewhere_goes_with_its_original_and_so_do_its_versions(
    fleet: Fleet, order: str
) -> None:
    a, b = fleet.pair()
    for name in order:
        fleet.machine(name)
    ada, bob = seen_as(a.replica, "ada"), seen_as(b.replica, "ada")
    key = write(ada, SECRET, scope="agent").id
    fleet.quiet()
    forget.forget(ada, [key], linked=True, confirm=True)
    version = promotion.promote(bob, key, space="lab").id
    second = promotion.promote(bob, version, scope="org").id
    synced(fleet, order)
    for machine in fleet.machines.values():
        assert [is_scrubbed(machine, one) for one in (key, version, second)] == [True] * 3
    nowhere(fleet)


@pytest.mark.parametrize("order", ["abab", "bbaa", "baab"])
def test_without_linked_a_version_made_elsewhere_stays(fleet: Fleet, order: str) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="agent", agent="ada").id
    fleet.quiet()
    forget.forget(a.replica, [key], confirm=True)
    version = promotion.promote(b.replica, key, scope="org").id
    synced(fleet, order)
    assert (a.text(version), b.text(version)) == (SECRET, SECRET)
    assert forget.forget(a.replica, [key], confirm=True)["linked"] == [version]
    forget.forget(a.replica, [key], linked=True, confirm=True)  # by an operator, afterwards
    synced(fleet, "ab")
    nowhere(fleet)


@pytest.mark.parametrize("ended_by", ["b", "ab", "ba"])
@pytest.mark.parametrize("order", [*map("".join, ORDERS), *THREE])
def test_a_summary_made_elsewhere_leaves_no_word_and_no_history(
    fleet: Fleet, order: str, ended_by: str
) -> None:
    a, b = fleet.pair()
    for name in order:
        fleet.machine(name)
    who = {"a": seen_as(a.replica, "ada"), "b": seen_as(b.replica, "bob")}
    session = sessions.start(who["a"], title="Deal", agents=["bob"])["id"]
    key = write(who["a"], SECRET, session=session, type="decision").id
    write(who["a"], "We deploy on Friday.", session=session)
    fleet.quiet()
    forget.forget(who["a"], [key], linked=True, confirm=True)
    for name in ended_by:
        a.clock.at_ms, b.clock.at_ms = a.clock.at_ms + 1000, b.clock.at_ms + 1000
        summary = sessions.end(who[name], session)["summary_memory_id"]
    synced(fleet, order)
    texts = {machine.text(summary) for machine in fleet.machines.values()}
    assert len(texts) == 1
    for name in ended_by:
        sessions.sweep(who[name])
    fleet.quiet()
    nowhere(fleet)


@pytest.mark.parametrize("order", ["abab", "bbaa", "baab"])
def test_a_memory_made_of_a_turn_that_went_with_it(fleet: Fleet, order: str) -> None:
    a, b = fleet.pair()
    key = write(a.replica, SECRET, scope="org").id
    turn = chatlog.write(a.replica, "talk", SECRET, role="user")["id"]
    fleet.quiet()
    assert turn in forget.forget(a.replica, [key], linked=True, confirm=True)["linked"]
    made = promotion.promote_turn(b.replica, turn, scope="org").id
    synced(fleet, order)
    assert is_scrubbed(a, made)
    assert is_scrubbed(b, made)
    nowhere(fleet)


def test_what_others_made_of_it_is_not_the_forgetters_to_take(fleet: Fleet) -> None:
    a, b = fleet.pair()
    ada = seen_as(a.replica, "ada")
    key = write(ada, SECRET, scope="agent").id
    spaces.change_members(a.replica, "lab", add=["ada", "bob"])
    version = promotion.promote(ada, key, space="lab").id
    spaces.change_members(a.replica, "lab", remove=["ada"])
    fleet.quiet()
    assert forget.forget(ada, [key], linked=True, confirm=True)["linked"] == []
    fleet.quiet()
    assert not is_scrubbed(b, mark(key), "relationship")
    assert (a.text(version), b.text(version)) == (SECRET, SECRET)
