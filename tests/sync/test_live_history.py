"""Any history of turns, writes, whole syncs, kills and restored hubs ends in one state."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from fix_sync import World, contents
from fix_turns import Machine, in_touch
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_sync.errors import HubUnreachable
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.live import ALL_SEQS, QUIET_S, Live
from satchel_sync.session import sync
from satchel_sync.tables import MEMORY, TABLES


@dataclass(frozen=True)
class Write:
    """Machine `at` writes a text (None = deletes)."""

    at: int
    key: str
    text: str | None


@dataclass(frozen=True)
class Turn:
    """Machine `at` has a turn, whose line is cut at a call (0 = never)."""

    at: int
    after_s: float
    cut_at: int
    answer_lost: bool


@dataclass(frozen=True)
class Whole:
    """Another process syncs the file of machine `at`."""

    at: int


@dataclass(frozen=True)
class Restart:
    """The process of machine `at` is killed and started again."""

    at: int


@dataclass(frozen=True)
class Backup:
    """A backup of the hub is taken, or put back."""

    back: bool


machines = st.integers(0, 2)
STEPS: st.SearchStrategy[Any] = st.one_of(
    st.builds(Write, machines, st.sampled_from("abc"), st.none() | st.sampled_from("xyz")),
    st.builds(
        Turn, machines, st.sampled_from([0, 2, 2, 2, 31, 901]), st.integers(0, 12), st.booleans()
    ),
    st.builds(Turn, machines, st.just(2), st.just(0), st.just(False)),
    st.builds(Whole, machines),
    st.builds(Restart, machines),
    st.builds(Backup, st.booleans()),
)


def play(world: World, fleet: list[Machine], step: Any, backups: list[HubState]) -> None:
    world.hub.clock.ms += 7  # type: ignore[attr-defined]
    match step:
        case Write(at, key, None):
            if key in fleet[at].replica.kinds["memory"].rows:
                fleet[at].replica.delete(MEMORY, key)
        case Write(at, key, text):
            fleet[at].put(key, text)
        case Turn(at, after_s, cut_at, lost):
            fleet[at].line.cut_at, fleet[at].line.answer_lost = cut_at, lost
            with contextlib.suppress(HubUnreachable):
                fleet[at].turn(after_s)
            fleet[at].line.cut_at = 0
        case Whole(at):
            replica = fleet[at].replica
            sync(replica, world.hub.connect(), replica.clock)
        case Restart(at):
            fleet[at].line.hub = world.hub.connect()
            fleet[at].live = Live(fleet[at].replica, fleet[at].line, fleet[at].replica.clock)
        case Backup(back=False):
            backups.append(world.hub.snapshot())
        case Backup():
            if backups:
                world.hub.restore(backups[-1].copied())
                for machine in fleet:  # a restore cuts every line
                    machine.line.hub = world.hub.connect()


@settings(deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_any_history_ends_in_one_state(history: list[Any]) -> None:
    world = World.of(3)
    fleet, backups = in_touch(world), list[HubState]()
    for step in history:
        play(world, fleet, step, backups)
    for _ in range(3):
        for machine in fleet:
            with contextlib.suppress(HubUnreachable):  # of a line that a restore has cut
                machine.turn()
    for _ in range(2):
        for machine in fleet:
            machine.turn(QUIET_S)
            machine.turn()
    for machine in fleet:
        assert contents(machine.replica) == contents(world.hub)
        assert not machine.replica.unsent(ALL_SEQS)
        assert [machine.replica.cursor(table) for table in TABLES] == [
            world.hub.state.bound()[table.name] for table in TABLES
        ]
