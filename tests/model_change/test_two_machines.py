"""Two machines that sync and ask with different models: neither takes the other's vectors away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fix_memory import StillClock
from fix_model_change import LATER, best, change, drained, filled, finds_all, machine, vectors

from satchel.embedding import library, queue
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.endpoint import SqliteReplica
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync

OLD = "all-MiniLM-L6-v2"


@dataclass
class Pair:
    """Two machines and the hub between them; `b` is another Replica once it changes its model."""

    a: Replica
    b: Replica
    hub: MemoryHub = field(default_factory=lambda: MemoryHub(StillClock(2_000_000_000_000)))

    def settle(self) -> None:
        """Syncs until nothing moves, which the digests of both sides confirm."""
        for one in (self.a, self.b, self.a, self.b, self.a):
            report = sync(SqliteReplica(one.store), self.hub.connect(), self.hub.clock)
            assert report["exit"] == 0
        assert report["digest"] == "equal"


@contextmanager
def pair(folder: Path) -> Iterator[Pair]:
    with machine(folder / "a") as a, machine(folder / "b") as b:
        yield Pair(a, b)


def test_each_machine_keeps_what_it_asks_with(tmp_path: Path, turned: Path) -> None:
    with pair(tmp_path) as both:
        ids = filled(both.a)
        queue.drain(both.a)
        both.settle()
        assert queue.drain(both.b).done == 1, "vectors of memories come along, those of turns not"
        finds_all(both.b)
        with change(both.b, turned) as both.b:
            drained(both.b)
            assert both.b.standing().in_use == both.b.engines.configured().model_id
            # What has travelled stays: machine a asks with it.
            assert vectors(both.b) == {OLD: (len(ids), 0), "turned": (len(ids), 1)}
            both.settle()
            finds_all(both.a)
            finds_all(both.b)
            assert vectors(both.a) == {OLD: (len(ids), 1), "turned": (len(ids), 0)}
            # A text of either machine is found on the other, by that one's own model.
            write(both.a, LATER[0])
            both.settle()
            assert best(both.b, LATER[1]) is None
            assert queue.drain(both.b).done == 1
            assert best(both.b, LATER[1]) == LATER[0]
            both.settle()
            assert queue.drain(both.a).done == queue.drain(both.b).done == 0
            assert both.a.standing().in_use != both.b.standing().in_use


def test_the_second_machine_finds_the_vectors_made(tmp_path: Path, turned: Path) -> None:
    with pair(tmp_path) as both:
        ids = filled(both.a)
        queue.drain(both.a)
        both.settle()
        queue.drain(both.b)
        with change(both.b, turned) as both.b:
            drained(both.b)
            both.settle()
        with change(both.a, turned) as both.a, machine(both.b.store.home, turned) as both.b:
            assert library.progress(both.a).left == 1, "the turn"
            assert drained(both.a).done == 1
            finds_all(both.a)
            # Now nobody asks with the old model.
            model, dropped = library.drop(both.a, OLD)
            assert (model.partition("@")[0], dropped) == (OLD, len(ids))
            both.settle()
            for one in (both.a, both.b):
                assert vectors(one) == {"turned": (len(ids), 1)}
                assert queue.drain(one).done == 0
                finds_all(one)


def test_vectors_dropped_elsewhere_are_made_again_where_they_are_asked_with(
    tmp_path: Path, turned: Path
) -> None:
    with pair(tmp_path) as both:
        ids = filled(both.a)
        queue.drain(both.a)
        both.settle()
        queue.drain(both.b)
        with change(both.b, turned) as both.b:
            drained(both.b)
            library.drop(both.b, OLD)
            both.settle()
            assert vectors(both.a) == {OLD: (0, 1), "turned": (len(ids), 0)}
            assert queue.drain(both.a).done == len(ids)
            finds_all(both.a)
            both.settle()
            assert queue.drain(both.b).done == 0, "it does not drop them again"
            assert vectors(both.b)[OLD] == (len(ids), 0)
            finds_all(both.b)
