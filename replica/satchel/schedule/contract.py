"""What a scheduler of an operating system does for us, and what it needs to do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from satchel.schedule.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended: its exit code and what it said."""

    code: int
    out: str = ""
    err: str = ""

    @property
    def words(self) -> str:
        """The last line that it said, for an error."""
        said = (self.err.strip() or self.out.strip()).splitlines()
        return said[-1] if said else f"exit code {self.code}"


class Runner(Protocol):
    """Runs programs of the operating system."""

    def has(self, program: str) -> bool:
        """Whether there is such a program."""

    def run(self, command: Sequence[str]) -> Ran:
        """Run it to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was done. `run` are commands that the user has to run, `why` says why we could not."""

    changed: bool
    active: bool
    run: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a job stands. None = the system does not say. Times are UTC ms."""

    period_s: int | None
    command: tuple[str, ...] | None
    active: bool | None = None
    last_run_ms: int | None = None
    next_run_ms: int | None = None
    last_exit: int | None = None


class Scheduler(Protocol):
    """A scheduler of an operating system: `Systemd`, `Launchd`, `TaskScheduler`."""

    @property
    def manager(self) -> str:
        """What people call it."""

    def files(self, name: str) -> tuple[Path, ...]:
        """Where the files of a job lie, or would lie."""

    def render(self, job: Job) -> dict[Path, bytes]:
        """The files of a job. Raises Refused for what they cannot hold."""

    def install(self, job: Job) -> Outcome:
        """Write the files and start the timer. Raises SatchelError when the system says no."""

    def state(self, name: str) -> State | None:
        """How it stands, or None when it is not installed."""

    def remove(self, name: str) -> Outcome:
        """Stop the timer and delete its files."""
