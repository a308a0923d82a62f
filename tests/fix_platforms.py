"""satchel in processes that are shown another operating system (platforms/seen_as)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fix_command import Run, environment

SEEN_AS = Path(__file__).parent / "platforms" / "seen_as"
TIMEOUT_S = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """A machine of that system ("windows", "macos"), with one home."""

    system: str
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What a process needs to be shown it."""
        return environment(
            PYTHONPATH=str(SEEN_AS), SEEN_AS=self.system, SATCHEL_HOME=str(self.home),
            PYTHONWARNDEFAULTENCODING="1", PYTHONDONTWRITEBYTECODE="1", **more,
        )  # fmt: skip

    def run(self, *commands: Sequence[str], **more: str) -> list[Run]:
        """These commands, in one process."""
        done = self.python("-m", "seen_commands", stdin=json.dumps(commands), **more)
        assert done.code == 0, done.err
        return [Run(one["code"], one["out"], one["err"]) for one in done.json]

    def python(self, *words: str, stdin: str = "", **more: str) -> Run:
        """A process of Python that is shown it."""
        done = subprocess.run(
            [sys.executable, *words], input=stdin.encode(), capture_output=True, check=False,
            env=self.environment(**more), timeout=TIMEOUT_S,
        )  # fmt: skip
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def answers(done: Sequence[Run]) -> list[Any]:
    """The answers of commands that all succeeded."""
    failed = [one for one in done if one.code]
    assert failed == []
    return [one.json for one in done]
