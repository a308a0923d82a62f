"""Tasks that two machines changed at once: one outcome, and each lost claim is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fix_lossy import LossyHub
from fix_two import Two, two
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import Conflict, InvalidInput
from satchel.memory.tasks import tasks
from satchel.memory.tasks.states import FINISHED, OPEN
from satchel.memory.tasks.tree import Link, cut_links
from satchel.store.endpoint import SqliteReplica
from satchel_sync.errors import HubUnreachable
from satchel_sync.session import sync

AGENTS = (("a0", "a1"), ("b0", "b1"))
"""The agents of each machine."""
LEASE_MS = 1000
LOST = ("task_claim_lost", "task_completed", "task_failed", "task_cancelled", "task_deleted")
RELAXED = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Two]:
    with two(tmp_path) as found:
        yield found


# ---- pairs of verbs -----------------------------------------------------------------------------

ACTS: dict[str, Callable[[Two, int, str], Any]] = {
    "claim": lambda w, m, key: tasks.claim(w.on(m, AGENTS[m][0]), key),
    "edit": lambda w, m, key: tasks.update(w.on(m), key, title=f"by {m}"),
    "complete": lambda w, m, key: tasks.complete(w.on(m), key, f"by {m}"),
    "cancel": lambda w, m, key: tasks.cancel(w.on(m), key),
    "delete": lambda w, m, key: tasks.delete(w.on(m), key, confirm=True),
}
RANK = {"claim": 0, "edit": 0, "complete": 1, "cancel": 1, "delete": 2}
"""What has a larger rank wins over what had not seen it, whatever the clocks say."""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_every_pair_of_acts_has_one_outcome_whoever_syncs_first(
    machines: Two, order: tuple[int, int]
) -> None:
    pairs = {tasks.create(machines.a, "t", scope="org")["id"]: pair for pair in product(ACTS, ACTS)}
    machines.settle()
    for machine in (0, 1):
        machines.clock.at_ms += 1
        for key, pair in pairs.items():
            ACTS[pair[machine]](machines, machine, key)
    for machine in (*order, *order):
        machines.sync(machine)
    for key, pair in pairs.items():
        winner = 0 if RANK[pair[0]] > RANK[pair[1]] else 1
        found = [
            machines.rows(m, "SELECT status, title, claimed_by, life FROM task WHERE id = ?", key)
            for m in (0, 1)
        ]
        assert found[0] == found[1], pair
        expected: dict[str, tuple[Any, ...]] = {
            "claim": ("in_progress", "t", AGENTS[winner][0]),
            "edit": ("pending", f"by {winner}", None),
            "complete": ("completed", "t", None),
            "cancel": ("cancelled", "t", None),
            "delete": (None, None, None),
        }
        assert found[0][0][:3] == expected[pair[winner]], pair
        told = lost(machines, 1 - winner, AGENTS[1 - winner][0], key)
        assert told == (1 if pair[1 - winner] == "claim" else 0), pair


def lost(world: Two, machine: int, agent: str, key: str) -> int:
    """How often an agent was told, on its machine, that its claim of a task ended."""
    marks = ", ".join("?" * len(LOST))
    query = f"""SELECT count(*) FROM message WHERE to_agent = ? AND task_id = ?
                AND kind = 'notification' AND title IN ({marks})"""
    return int(world.rows(machine, query, agent, key, *LOST)[0][0])


def test_told_once_though_requests_and_answers_are_lost(machines: Two) -> None:
    """One of every two calls of a sync loses its request, the other one its answer."""
    agent, broken = AGENTS[0][0], 0
    for break_at in range(1, 40):
        key = tasks.create(machines.a, "t", scope="org")["id"]
        for machine in (0, 1):
            machines.sync(machine)
        ACTS["claim"](machines, 0, key)
        machines.clock.at_ms += 1
        ACTS["claim"](machines, 1, key)
        machines.sync(1)
        lossy = LossyHub(machines.hub.connect(), break_at, answer_lost=break_at % 2 == 0)
        try:
            sync(SqliteReplica(machines.a.store), lossy, machines.clock)
        except HubUnreachable:
            broken += 1
            machines.sync(0)
        assert lost(machines, 0, agent, key) == 1, break_at
        if lossy.calls < break_at:
            break
    assert broken > 10


# ---- any history --------------------------------------------------------------------------------


@dataclass
class Story:
    """The machines, and what an oracle expects: who believes to hold what, who was told."""

    world: Two
    key: str
    believed: dict[int, str] = field(default_factory=dict)
    told: Counter[tuple[int, str]] = field(default_factory=Counter)

    def step(self, machine: int, verb: str, who: int) -> None:
        agent, actor = AGENTS[machine][who], None
        if verb == "later":
            self.world.clock.at_ms += LEASE_MS
        elif verb == "sync":
            self.world.sync(machine)
        else:
            actor = self._act(machine, verb, agent)
        self._expect(machine, actor)
        if verb == "claim" and actor == agent:
            self.believed[machine] = agent

    def _act(self, machine: int, verb: str, agent: str) -> str | None:
        """Who acted, if the act was allowed; the operator is nobody."""
        key = self.key
        as_agent, operator = self.world.on(machine, agent), self.world.on(machine)
        acts: dict[str, tuple[str | None, Callable[[], Any]]] = {
            "claim": (agent, lambda: tasks.claim(as_agent, key, lease_ms=LEASE_MS)),
            "release": (agent, lambda: tasks.release(as_agent, key)),
            "complete": (agent, lambda: tasks.complete(as_agent, key, f"by {agent}")),
            "block": (agent, lambda: tasks.block(as_agent, key, "rain")),
            "cancel": (None, lambda: tasks.cancel(operator, key)),
            "reopen": (None, lambda: tasks.reopen(operator, key)),
            "assign": (None, lambda: tasks.assign(operator, key, agent)),
            "edit": (None, lambda: tasks.update(operator, key, title=f"by {machine}")),
        }
        actor, call = acts[verb]
        try:
            call()
        except Conflict:
            return None
        return actor

    def _expect(self, machine: int, actor: str | None) -> None:
        """A belief that the machine's rows contradict ends; who did not do that itself is told."""
        agent = self.believed.get(machine)
        query = "SELECT claimed_by, status FROM task WHERE id = ?"
        ((holder, status),) = self.world.rows(machine, query, self.key)
        if agent is None or (holder == agent and status not in FINISHED):
            return
        del self.believed[machine]
        if actor != agent:
            self.told[machine, agent] += 1

    def check(self) -> None:
        for machine, agents in enumerate(AGENTS):
            for agent in agents:
                assert lost(self.world, machine, agent, self.key) == self.told[machine, agent]


steps = st.tuples(
    st.integers(0, 1),
    st.sampled_from(
        ["claim"] * 5
        + ["sync"] * 4
        + ["later", "release", "complete", "block", "cancel", "reopen", "assign", "edit"]
    ),
    st.integers(0, 1),
)


@settings(RELAXED, max_examples=30)
@given(st.lists(steps, min_size=8, max_size=16))
def test_whoever_loses_a_claim_is_told_exactly_once(machines: Two, drawn: list[Any]) -> None:
    key = tasks.create(machines.a, "t", scope="org")["id"]
    machines.sync(0)
    machines.sync(1)
    story = Story(machines, key)
    for step in drawn:
        story.step(*step)
        story.check()
    for machine in (0, 1, 0, 1):
        story.step(machine, "sync", 0)
    story.check()
    query = """SELECT status, claimed_by, lease_until, owner_agent, result, life, hlc FROM task
               WHERE id = ?"""
    assert machines.rows(0, query, key) == machines.rows(1, query, key)
    for agent in story.believed.values():
        assert tasks.get(machines.a, key)["claimed_by"] == agent


# ---- parents ------------------------------------------------------------------------------------

graphs = st.lists(st.integers(-1, 8), min_size=1, max_size=8)


@given(graphs, st.permutations(range(8)), st.randoms())
def test_a_forest_is_left_of_any_links(parents: list[int], stamps: list[int], random: Any) -> None:
    links = {
        f"t{n}": Link(f"t{parent}" if parent >= 0 else None, (1 << 16, stamps[n], b"", b""))
        for n, parent in enumerate(parents)
    }
    cut = cut_links(links)
    shuffled = list(links.items())
    random.shuffle(shuffled)
    assert cut_links(dict(shuffled)) == cut
    for key, link in links.items():
        assert (cut.get(key) == "missing") == (link.parent is not None and link.parent not in links)
        walked, at = [key], key
        while at not in cut and (parent := links[at].parent) is not None:
            at = parent
            walked.append(at)
            assert len(walked) <= len(links), "the links that hold lead to an end"
    for key in [key for key, why in cut.items() if why == "cycle"]:
        ring, parent = [key], links[key].parent
        while parent != key:
            assert parent is not None
            ring.append(parent)
            parent = links[parent].parent
        assert max(ring, key=lambda one: links[one].version) == key
        assert [one for one in ring if one in cut] == [key], "one link of a ring is enough"


@settings(RELAXED, max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 1), st.permutations(range(3))), min_size=4, max_size=8))
def test_moves_on_two_machines_leave_one_forest(machines: Two, moves: list[Any]) -> None:
    space = f"space {machines.clock.at_ms}"
    keys = [tasks.create(machines.a, f"t{n}", space=space)["id"] for n in range(3)]
    machines.settle()
    for machine, (child, parent, _) in moves:
        machines.clock.at_ms += 1
        with suppress(InvalidInput):  # a ring that this machine sees is refused
            tasks.update(machines.on(machine), keys[child], parent=keys[parent])
    machines.clock.at_ms += 1
    machines.settle()
    trees = [[tasks.tree(machines.on(m), key) for key in keys] for m in (0, 1)]
    assert trees[0] == trees[1]
    listed = [tasks.list_tasks(machines.on(m), space=space)["items"] for m in (0, 1)]
    assert listed[0] == listed[1]
    tops = [one["id"] for one in listed[0] if one["parent_id"] is None or one["parent_cut"]]
    below = [key for top in tops for key in ids(tasks.tree(machines.a, top))]
    assert sorted(below) == sorted(keys), "each task hangs in one tree"


def ids(node: dict[str, Any]) -> list[str]:
    return [node["id"], *(key for child in node["children"] for key in ids(child))]


def test_every_state_is_one_of_the_table() -> None:
    assert set(OPEN) | set(FINISHED) == {
        "pending", "in_progress", "blocked", "completed", "failed", "cancelled",
    }  # fmt: skip
