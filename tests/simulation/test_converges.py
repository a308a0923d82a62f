"""Random histories of edits, deletes, syncs, lost requests and lost answers end in one state."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from fix_lossy import LossyHub
from fix_sync import World, contents, memory_values, task_values
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_sync.changes import Row
from satchel_sync.errors import HubUnreachable
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.session import sync
from satchel_sync.stamp import Stamp, lineage_of
from satchel_sync.tables import BY_NAME, MEMORY

KEYS = ("a", "b", "c")
REPLICAS = 3
TASK = BY_NAME["task"]


@dataclass(frozen=True)
class Edit:
    """Replica `at` writes a text (None = deletes) over a memory."""

    at: int
    key: str
    text: str | None


@dataclass(frozen=True)
class Work:
    """Replica `at` moves a task to a state."""

    at: int
    key: str
    status: str


@dataclass(frozen=True)
class Sync:
    """Replica `at` syncs; at call number `break_at` the network fails (0 = never).

    At call number `edit_at` one of its agents writes `text`, while an answer is on the way.
    """

    at: int
    break_at: int
    answer_lost: bool
    edit_at: int
    text: str


@dataclass(frozen=True)
class Wait:
    """Every clock moves on; the wall of replica `at` is moved besides."""

    at: int
    ms: int
    skew_ms: int


Step = Edit | Work | Sync | Wait
machines = st.integers(0, REPLICAS - 1)
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed"])
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Edit, machines, st.sampled_from(KEYS), st.none() | st.sampled_from("xyz")),
    st.builds(Work, machines, st.sampled_from(KEYS), statuses),
    st.builds(
        Sync, machines, st.integers(0, 30), st.booleans(), st.integers(0, 6), st.sampled_from("xyz")
    ),
    st.builds(Wait, machines, st.integers(0, 4000), st.sampled_from([0, 0, 0, -60_000, 60_000])),
)


def play(world: World, step: Step, written: list[Row]) -> None:
    """One step of a history; rows that a user wrote are added to `written`."""
    replica = world.replicas[step.at]
    match step:
        case Edit(key=key, text=None):
            if key in replica.kinds["memory"].rows:
                written.append(replica.delete(MEMORY, key))
        case Edit(key=key, text=text):
            written.append(replica.put(MEMORY, key, memory_values(text)))
        case Work(key=key, status=status):
            written.append(replica.put(TASK, key, task_values("t", status)))
        case Sync(break_at=break_at, answer_lost=lost, edit_at=edit_at, text=text):

            def meanwhile(call: int) -> None:
                if call == edit_at:
                    written.append(replica.put(MEMORY, KEYS[0], memory_values(text)))

            with contextlib.suppress(HubUnreachable):
                sync(replica, LossyHub(world.hub, break_at, lost, meanwhile), replica.clock)
        case Wait(ms=ms, skew_ms=skew):
            for clock in (world.hub.clock, *(other.clock for other in world.replicas)):
                clock.ms += ms  # type: ignore[attr-defined]
            replica.clock.offset_ms += skew  # type: ignore[attr-defined]


def settle(world: World) -> None:
    """Two quiet rounds of syncs."""
    for _ in range(2):
        for replica in world.replicas:
            report = sync(replica, world.hub, replica.clock)
            assert report["exit"] == 0, report
            assert report["digest"] != "repaired", "the net caught what push or pull had lost"


def accounted_for(world: World, row: Row, kind: str) -> bool:
    """Whether a version's content won, is one that the winner builds on, or is in the journal."""
    winner = world.hub.state.rows[kind][row.key]
    journal = {(lost.row.key, lost.row.stamp.digest) for lost in world.hub.state.losers.values()}
    for replica in world.replicas:
        losers = replica.file.losers.values()
        journal |= {(lost.row.key, lost.row.stamp.digest) for lost in losers}
    return (
        winner.stamp == row.stamp
        or winner.values == row.values
        or row.stamp.digest in {Stamp.parse(entry).digest for entry in lineage_of(winner.lineage)}
        or (row.key, row.stamp.digest) in journal
    )


@settings(deadline=None)
@given(st.lists(steps, max_size=40))
def test_any_history_converges_and_loses_no_last_word(history: list[Step]) -> None:
    world, written = World.of(REPLICAS), list[Row]()
    for step in history:
        play(world, step, written)
    last_words = [row for replica in world.replicas for row in unsent(replica)]
    settle(world)
    truth = contents(world.hub)
    for replica in world.replicas:
        assert truth == contents(replica)
    for kind, row in last_words:
        assert row.stamp.dead or accounted_for(world, row, kind)


def unsent(replica: MemoryReplica) -> list[tuple[str, Row]]:
    """Every version that waits in an outbox."""
    return [(kind, kept.rows[key]) for kind, kept in replica.kinds.items() for key in kept.outbox]


@settings(max_examples=settings.default.max_examples // 2, deadline=None)
@given(st.lists(steps, max_size=25))
def test_a_sync_after_quiet_rounds_changes_nothing(history: list[Step]) -> None:
    world = World.of(REPLICAS)
    for step in history:
        play(world, step, [])
    settle(world)
    before = (
        contents(world.hub),
        dict(world.hub.state.seqs),
        world.hub.state.last_seq,
        len(world.hub.state.losers),
    )
    for replica in world.replicas:
        report = sync(replica, world.hub, replica.clock)
        assert (report["noop"], report["digest"]) == (True, "equal")
    assert before == (
        contents(world.hub),
        dict(world.hub.state.seqs),
        world.hub.state.last_seq,
        len(world.hub.state.losers),
    )


@settings(max_examples=settings.default.max_examples // 2, deadline=None)
@given(st.lists(steps.filter(lambda step: not isinstance(step, Sync)), max_size=25), st.data())
def test_the_order_of_syncs_does_not_matter(history: list[Step], data: st.DataObject) -> None:
    ends = []
    for order in (range(REPLICAS), data.draw(st.permutations(range(REPLICAS)))):
        world = World.of(REPLICAS)
        for step in history:
            play(world, step, [])
        for at in order:
            sync(world.replicas[at], world.hub, world.replicas[at].clock)
        settle(world)
        ends.append(
            {
                kind: {k: (r.stamp, r.values) for k, r in rows.items()}
                for kind, rows in contents(world.hub).items()
            }
        )
    assert ends[0] == ends[1]


@settings(max_examples=settings.default.max_examples // 2, deadline=None)
@given(st.lists(st.sampled_from("xyz"), min_size=1, max_size=12), st.data())
def test_a_sequential_chain_of_edits_is_no_conflict(texts: list[str], data: st.DataObject) -> None:
    world = World.of(2)
    for text in texts:
        replica = world.replicas[data.draw(st.integers(0, 1))]
        sync(replica, world.hub, replica.clock)
        replica.put(MEMORY, "a", memory_values(text))
        sync(replica, world.hub, replica.clock)
        world.hub.clock.ms += 1  # type: ignore[attr-defined]
    assert not world.hub.state.losers
    assert not any(replica.file.losers for replica in world.replicas)


def test_replaying_a_push_changes_nothing() -> None:
    world = World.of(1)
    replica, hub = world.replicas[0], world.hub
    hub.hello(replica.hello())
    rows = [replica.put(MEMORY, key, memory_values("x")) for key in KEYS]
    assert hub.push(MEMORY, rows).accepted == KEYS
    seqs = dict(hub.state.seqs["memory"])
    assert hub.push(MEMORY, rows).accepted == KEYS
    assert seqs == hub.state.seqs["memory"]
