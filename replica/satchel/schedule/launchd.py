"""A user's agent of launchd: one property list and a few words with `launchctl`.

launchd.plist(5), launchctl(1).
"""

from __future__ import annotations

import plistlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from satchel.schedule import files
from satchel.schedule.contract import Outcome, Runner, State
from satchel.schedule.job import Job

LAUNCHCTL = "launchctl"
LOG_FILE = "sync.log"
"""In the home: what a run says on stderr. launchd keeps nothing of it itself."""
_EXIT = re.compile(r"^\s*last exit code = (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Launchd:
    """`folder` is ~/Library/LaunchAgents, `user_id` the number of the user who has them."""

    folder: Path
    user_id: int
    runner: Runner
    manager: str = "launchd"

    def files(self, name: str) -> tuple[Path, ...]:
        """The property list."""
        return (self.folder / f"{name}.plist",)

    def render(self, job: Job) -> dict[Path, bytes]:
        """The property list. launchd makes up for one missed run after a sleep, by itself.

        It counts from when the agent is loaded, so a run at that time too: a machine that is off
        every night would never come to an interval of days.
        """
        content = {
            "Label": job.name,
            "ProgramArguments": list(job.command),
            "StartInterval": job.period_s,
            "RunAtLoad": True,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Umask": 0o077,
            "StandardErrorPath": str(job.home / LOG_FILE),
        }
        return {path: plistlib.dumps(content) for path in self.files(job.name)}

    def install(self, job: Job) -> Outcome:
        """Write the property list and load it; it is loaded at the next login in any case."""
        changed = files.write_all(self.render(job))
        (path,) = self.files(job.name)
        load = (LAUNCHCTL, "bootstrap", self._domain, str(path))
        if not self.runner.has(LAUNCHCTL):
            return self._left(changed, load, "this machine has no launchctl")
        loaded = self._loaded(job.name)
        if loaded and not changed:
            return Outcome(changed=False, active=True)
        if loaded:
            self.runner.run((LAUNCHCTL, "bootout", self._target(job.name)))
        ran = self.runner.run(load)
        if ran.code:
            return self._left(changed, load, f"launchctl did not load it: {ran.words}")
        return Outcome(changed=changed, active=True)

    def state(self, name: str) -> State | None:
        """What the property list says, and whether it is loaded. launchd tells no times."""
        (path,) = self.files(name)
        content = files.read(path)
        if content is None:
            return None
        said = _parsed(content)
        period_s, command = said.get("StartInterval"), said.get("ProgramArguments")
        state = State(
            period_s=period_s if isinstance(period_s, int) else None,
            command=tuple(map(str, command)) if isinstance(command, list) else None,
        )
        if not self.runner.has(LAUNCHCTL):
            return state
        printed = self.runner.run((LAUNCHCTL, "print", self._target(name)))
        found = _EXIT.search(printed.out)
        return State(
            period_s=state.period_s,
            command=state.command,
            active=printed.code == 0,
            last_exit=int(found[1]) if found else None,
        )

    def remove(self, name: str) -> Outcome:
        """Unload the agent and delete its property list."""
        if self.runner.has(LAUNCHCTL) and self._loaded(name):
            self.runner.run((LAUNCHCTL, "bootout", self._target(name)))
        files.delete_all(self.files(name))
        return Outcome(changed=True, active=False)

    @property
    def _domain(self) -> str:
        return f"gui/{self.user_id}"

    def _target(self, name: str) -> str:
        return f"{self._domain}/{name}"

    def _loaded(self, name: str) -> bool:
        return self.runner.run((LAUNCHCTL, "print", self._target(name))).code == 0

    def _left(self, changed: bool, load: tuple[str, ...], why: str) -> Outcome:
        return Outcome(changed=changed, active=False, run=(shlex.join(load),), why=why)


def _parsed(content: bytes) -> dict[str, Any]:
    """A property list's dictionary; empty when it is none."""
    try:
        said = plistlib.loads(content)
    except (plistlib.InvalidFileException, ExpatError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
