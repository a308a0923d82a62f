"""Two machines and a hub in memory: quick enough for thousands of syncs. One clock for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fix_memory import StillClock, opened, seen_as

from satchel.replica import Replica
from satchel.store.endpoint import SqliteReplica
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync


@dataclass
class Two:
    """Replicas a and b as their operators; `clock` is theirs and the hub's."""

    a: Replica
    b: Replica
    hub: MemoryHub
    clock: StillClock

    def on(self, machine: int, agent: str | None = None) -> Replica:
        """A machine as one of its agents, or as its operator."""
        return seen_as((self.a, self.b)[machine], agent)

    def sync(self, machine: int) -> dict[str, Any]:
        """One sync of one machine."""
        return sync(SqliteReplica(self.on(machine).store), self.hub.connect(), self.clock)

    def settle(self) -> None:
        """Syncs until nothing moves."""
        for machine in (0, 1, 0, 1, 0):
            report = self.sync(machine)
        assert report["exit"] == 0

    def rows(self, machine: int, statement: str, *given: Any) -> list[Any]:
        """Rows of a plain statement."""
        with self.on(machine).store.read() as db:
            return db.execute(statement, given).fetchall()


@contextmanager
def two(folder: Path) -> Iterator[Two]:
    """Both machines, new."""
    clock = StillClock()
    with (
        opened(folder / "a", clock=clock, embedding="off") as a,
        opened(folder / "b", clock=clock, embedding="off") as b,
    ):
        yield Two(a, b, MemoryHub(clock), clock)
