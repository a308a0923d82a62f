"""Machines in memory that stay in touch with a hub, and the line of each, which a test may cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fix_lossy import LossyHub
from fix_sync import World, memory_values

from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.live import Live
from satchel_sync.tables import MEMORY

PERIOD_S = 2.0


@dataclass
class Line:
    """A connection to the hub that counts its calls, and that a test may cut at one of them."""

    hub: MemoryHub
    cut_at: int = 0
    answer_lost: bool = False
    calls: Counter[str] = field(default_factory=Counter)

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any) -> Any:
            self.calls[name] += 1
            self.cut_at -= 1
            lossy = LossyHub(self.hub, int(self.cut_at == 0), self.answer_lost)
            return getattr(lossy, name)(*given)

        return call


@dataclass
class Machine:
    """A replica in touch with the hub; `turn` lets a period pass first."""

    replica: MemoryReplica
    line: Line
    live: Live
    now_s: float = 0.0
    reports: list[dict[str, Any]] = field(default_factory=list)

    def turn(self, after_s: float = PERIOD_S) -> None:
        self.now_s += after_s
        if report := self.live.turn(self.now_s):
            self.reports.append(report)

    def put(self, key: str, text: str) -> None:
        self.replica.put(MEMORY, key, memory_values(text))

    def text(self, key: str) -> Any:
        row = self.replica.kinds["memory"].rows.get(key)
        return row and dict(zip(MEMORY.names, row.values, strict=False))["content"]


def in_touch(world: World) -> list[Machine]:
    """Every replica of a world, each on a line of its own."""
    lines = [Line(world.hub.connect()) for _ in world.replicas]
    return [
        Machine(replica, line, Live(replica, line, replica.clock))  # type: ignore[arg-type]
        for replica, line in zip(world.replicas, lines, strict=True)
    ]
