"""Machines of a simulated world: a file, a clock, a way to the hub that fails where it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.steps import Fault, Step

from satchel_sync.errors import HubUnreachable
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica


class Crash(Exception):
    """The process died: nobody catches this but the world."""


@dataclass(slots=True)
class WorldClock:
    """The true time, and how a machine's clock differs from it."""

    world: Now
    skew_ms: int = 0

    def now_ms(self) -> int:
        return max(0, self.world.ms + self.skew_ms)


@dataclass(slots=True)
class Now:
    """The true time."""

    ms: int


@dataclass(slots=True)
class Machine:
    """One machine. `met` is the last moment of the hub that the file knows of.

    `suspect`: its file was restored or copied, so it may be found to be one; `taken_back`: an
    administrator did so, so it may have to reconcile.
    """

    number: int
    replica: MemoryReplica
    clock: WorldClock
    hub: MemoryHub
    met: int = 0
    suspect: bool = False
    taken_back: bool = False
    busy: bool = False
    backups: list[tuple[File, int]] = field(default_factory=list)


class Tap:
    """One side of a sync, each of whose calls goes through a `Line`."""

    def __init__(self, target: object, line: Line, remote: bool) -> None:
        self._target, self._line, self._remote = target, line, remote

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method, line, remote = getattr(self._target, name), self._line, self._remote
        return lambda *given, **named: line.call(name, lambda: method(*given, **named), remote)


@dataclass
class Line:
    """The calls of one sync, counted: faults strike here, and others do their steps.

    What is planned for call -1 befalls the first push, -2 the second: the steps while its answer is
    on the way.
    """

    fault: Fault | None
    meanwhile: dict[int, list[Step]]
    play: Callable[[Step], None]
    is_cut: Callable[[], bool]
    calls: int = 0
    pushes: int = 0

    def call(self, name: str, method: Callable[[], Any], remote: bool) -> Any:
        """Do one call, unless a fault strikes."""
        self.calls += 1
        if name == "push":
            self.pushes += 1
        for step in self.meanwhile.get(self.calls, ()):
            self.play(step)
        if remote and self.is_cut():
            raise HubUnreachable("the hub was set back: every connection is cut")
        here = (self.calls, -self.pushes if name == "push" else 0)
        what = self.fault.what if self.fault and self.fault.call in here else None
        if what == "crash" or (what and not remote and what != "death"):
            raise Crash
        if what == "request":
            raise HubUnreachable("the request was lost")
        answer = method()
        for step in self.meanwhile.get(-self.pushes, ()) if name == "push" else ():
            self.play(step)
        if what == "death":
            raise Crash
        if what == "reply":
            raise HubUnreachable("the answer was lost")
        return answer
