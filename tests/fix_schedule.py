"""A scheduler's surroundings: a runner that notes what it is told, a home with a warehouse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from satchel.schedule.contract import Ran

DSN = "postgresql://somebody:sesame@127.0.0.1:1/nothing"
"""A warehouse that nobody serves, with a password that must be seen nowhere."""


@dataclass
class NotedRunner:
    """An operating system's programs as a table: the beginning of a command -> its answer.

    A program without an answer of its own succeeds and says nothing.
    """

    programs: frozenset[str] = frozenset()
    answers: dict[str, Ran] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def has(self, program: str) -> bool:
        return program in self.programs

    def run(self, command: Sequence[str]) -> Ran:
        line = " ".join(command)
        self.ran.append(line)
        answer = [ran for start, ran in self.answers.items() if line.startswith(start)]
        return answer[-1] if answer else Ran(code=0)

    def since(self) -> list[str]:
        """What was run since this was asked last."""
        told, self.ran = self.ran, []
        return told


def configure(home: Path, dsn: str) -> None:
    """Name the warehouse in config.toml."""
    (home / "config.toml").write_text(f"[warehouse]\ndsn = {json.dumps(dsn)}\n", "utf-8")
