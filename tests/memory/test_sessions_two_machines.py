"""Sessions and promotions of two machines that meet in a warehouse: one row of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_memory import seen_as

from satchel.errors import Conflict
from satchel.memory import change, edges, promotion, read, spaces
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.text import stored_list
from satchel.memory.write import write
from satchel.replica import Replica

HOUR_MS = 60 * 60 * 1000


@pytest.fixture
def fleet(hub_world: HubWorld, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(hub_world, tmp_path)
    try:
        yield fleet
    finally:
        fleet.close()


def agents(fleet: Fleet) -> tuple[Replica, Replica, Machine, Machine]:
    """The agent ada on machine a and bob on machine b."""
    one, other = fleet.pair()
    return seen_as(one.replica, "ada"), seen_as(other.replica, "bob"), one, other


def summary(replica: Replica, key: str) -> dict[str, Any]:
    (made,) = read.list_memories(replica, session=key, type="episodic")["items"]
    assert made["id"] == sessions.get(replica, key)["summary_memory_id"]
    return made


def test_two_machines_that_end_one_session_have_one_summary(fleet: Fleet) -> None:
    ada, bob, _, other = agents(fleet)
    key = sessions.start(ada, title="release", agents=["bob"])["id"]
    write(ada, "We ship on Friday.", type="decision", session=key)
    fleet.quiet()
    mine = write(ada, "The build is green.", type="working", session=key).id
    theirs = write(bob, "The docs are late.", type="working", session=key).id
    other.clock.at_ms += HOUR_MS
    sessions.end(ada, key)
    sessions.end(bob, key)
    assert "docs" not in summary(ada, key)["content"]
    assert "green" not in summary(bob, key)["content"]
    fleet.quiet()

    assert summary(ada, key) == summary(bob, key)
    swept = sessions.sweep(bob)
    assert swept == {"ended": [], "refreshed": [key]}
    fleet.quiet()

    told = summary(ada, key)
    assert told == summary(bob, key)
    for said in ("Friday", "green", "late"):
        assert said in told["content"]
    assert told["content"].startswith("release, ")
    linked = {one["to_id"] for one in edges.graph(ada, told["id"])["edges"]}
    assert {mine, theirs} < linked
    assert len(linked) == 3
    for replica in (ada, bob):
        assert sessions.sweep(replica) == {"ended": [], "refreshed": []}
        working = read.list_memories(replica, type="working")["items"]
        assert {one["id"] for one in working if one["expires_at"] is not None} == {mine, theirs}


def test_two_machines_that_sweep_at_once_agree(fleet: Fleet) -> None:
    ada, bob, _, _ = agents(fleet)
    key = sessions.start(ada, agents=["bob"])["id"]
    fleet.quiet()
    write(ada, "The build is green.", session=key)
    write(bob, "The docs are late.", session=key)
    sessions.end(ada, key)
    fleet.quiet()
    assert [sessions.sweep(one)["refreshed"] for one in (ada, bob)] == [[key], [key]]
    before = len(fleet.journal())
    fleet.quiet()
    assert len(fleet.journal()) == before
    assert summary(ada, key) == summary(bob, key)


def test_who_joined_on_either_machine_takes_part(fleet: Fleet) -> None:
    ada, bob, one, other = agents(fleet)
    spaces.change_members(ada, "lab", add=["bob", "cleo", "dan"])
    key = sessions.start(ada, space="lab")["id"]
    fleet.quiet()
    sessions.join(seen_as(one.replica, "cleo"), key)
    other.clock.at_ms += HOUR_MS
    sessions.join(bob, key)
    fleet.quiet()
    assert stored_list(sessions.get(ada, key)["agent_ids"]) == ["ada", "bob"]
    sessions.join(seen_as(other.replica, "dan"), key)
    fleet.quiet()
    assert set(stored_list(sessions.get(ada, key)["agent_ids"])) == {"ada", "bob", "cleo", "dan"}


def test_a_join_elsewhere_does_not_open_a_session_again(fleet: Fleet) -> None:
    ada, bob, _, other = agents(fleet)
    spaces.change_members(ada, "lab", add=["bob"])
    key = sessions.start(ada, space="lab")["id"]
    write(ada, "The build is green.", session=key)
    fleet.quiet()
    ended = sessions.end(ada, key)
    other.clock.at_ms += HOUR_MS
    sessions.join(bob, key)
    fleet.quiet()
    assert sessions.get(ada, key)["closed_at"] is None  # the later version won as a whole
    with pytest.raises(Conflict, match="closed"):
        sessions.join(seen_as(ada, "bob"), key)
    assert sessions.sweep(bob) == {"ended": [key], "refreshed": []}
    fleet.quiet()
    whole = sessions.get(ada, key)
    assert whole["closed_at"] == ended["closed_at"]
    assert whole["summary_memory_id"] == ended["summary_memory_id"]
    assert set(stored_list(whole["agent_ids"])) == {"ada", "bob"}
    assert sessions.end(ada, key) == whole


def test_a_promotion_on_both_machines_is_one_version(fleet: Fleet) -> None:
    ada, bob, one, other = agents(fleet)
    key = write(ada, "The gate code is on the wall.").id
    fleet.quiet()
    made = [
        promotion.promote(seen_as(machine.replica, "ada"), key, reason="all need it")
        for machine in (one, other)
    ]
    assert made[0].id == made[1].id
    fleet.quiet()
    (hit,) = search.search(bob, "gate code").hits
    assert hit.id == made[0].id
    promotion.demote(ada, made[0].id)
    fleet.quiet()
    assert search.search(bob, "gate code").hits == []
    assert read.get(bob, [made[0].id])["items"] == []
    # An edit over there that did not know of it outdoes a demotion: then it is done once more.
    promotion.promote(ada, key)
    fleet.quiet()
    promotion.demote(ada, key)
    other.clock.at_ms += HOUR_MS
    change.update(bob, made[0].id, title="gate")
    fleet.quiet()
    assert read.get(bob, [made[0].id])["items"]
    promotion.demote(ada, key)
    fleet.quiet()
    assert read.get(bob, [made[0].id])["items"] == []
