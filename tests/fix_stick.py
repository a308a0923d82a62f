"""Homes, a hub and a folder as the stick; every step is a command in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fix_command import COMMAND, Run, environment, run

PLAIN = "--insecure-plain"


@dataclass(frozen=True)
class Desk:
    """A folder with a home for each machine; only commands that say so see the hub."""

    folder: Path
    dsn: str

    def command(self, name: str, *arguments: str, hub: bool = False) -> dict[str, Any]:
        """How to start one."""
        return {"args": [*COMMAND, *arguments], "env": environment(**self._variables(name, hub))}

    def run(self, name: str, *arguments: str, hub: bool = False) -> Run:
        """One command of a machine, to its end."""
        return run(*arguments, **self._variables(name, hub))

    def _variables(self, name: str, hub: bool) -> dict[str, str]:
        home = {"SATCHEL_HOME": str(self.folder / name)}
        return home | ({"SATCHEL_WAREHOUSE_ADMIN_DSN": self.dsn} if hub else {})

    def at_hub(self, *arguments: str) -> Run:
        """One command where the hub can be reached."""
        return self.run("hub-side", *arguments, hub=True)

    def id(self, name: str) -> str:
        """A machine's replica id."""
        found: str = self.run(name, "sync", "status").json["replica_id"]
        return found

    def stick(self, file: str) -> str:
        """A path on the stick."""
        return str(self.folder / file)

    def trip(self, name: str) -> tuple[Run, Run, Run, Run]:
        """Export, import, export, import."""
        up, down = self.stick(f"{name}.up"), self.stick(f"{name}.down")
        return (
            self.run(name, "sync", "export", "--for", "hub", up, PLAIN, "--yes"),
            self.at_hub("sync", "import", up, PLAIN),
            self.at_hub("sync", "export", "--for", self.id(name)[:12], down, PLAIN, "--yes"),
            self.run(name, "sync", "import", down, PLAIN),
        )
