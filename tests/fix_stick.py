"""Homes, a hub and a folder as the stick; every step is a command in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fix_command import COMMAND, Run, environment, run

PLAIN = "--insecure-plain"
HUB_SIDE = "hub-side"


@dataclass(frozen=True)
class Desk:
    """A folder with a home for each machine; only commands that say so see the hub.

    `providers` are crypto providers of machines that have another than the default, `variables`
    are in the environment of all, `ids` are those that are known already.
    """

    folder: Path
    dsn: str
    providers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def command(self, name: str, *arguments: str, hub: bool = False) -> dict[str, Any]:
        """How to start one."""
        return {"args": [*COMMAND, *arguments], "env": environment(**self._variables(name, hub))}

    def run(self, name: str, *arguments: str, hub: bool = False) -> Run:
        """One command of a machine, to its end."""
        return run(*arguments, **self._variables(name, hub))

    def _variables(self, name: str, hub: bool) -> dict[str, str]:
        home = {"SATCHEL_HOME": str(self.folder / name), **self.variables}
        if name in self.providers:
            home["SATCHEL_CRYPTO_PROVIDER"] = self.providers[name]
        return home | ({"SATCHEL_WAREHOUSE_ADMIN_DSN": self.dsn} if hub else {})

    def at_hub(self, *arguments: str, name: str = HUB_SIDE) -> Run:
        """One command where the hub can be reached."""
        return self.run(name, *arguments, hub=True)

    def id(self, name: str) -> str:
        """A machine's replica id."""
        if name not in self.ids:
            self.ids[name] = self.run(name, "sync", "status").json["replica_id"]
        return self.ids[name]

    def stick(self, file: str) -> str:
        """A path on the stick."""
        return str(self.folder / file)

    def introduce(
        self, name: str, *, hub_side: str = HUB_SIDE, of: str | None = None, of_hub: str = "hub"
    ) -> None:
        """A machine and the hub's side trust each other's keys, for whom they say they speak."""
        theirs, ours = self.stick(f"{hub_side}.json"), self.stick(f"{name}.json")
        speaks = ("--as", of) if of else ()
        for step in (
            self.at_hub("key", "export", theirs, "--as", of_hub, "--yes", name=hub_side),
            self.run(name, "key", "export", ours, "--yes"),
            self.run(name, "key", "trust", theirs, "--name", hub_side, "--yes"),
            self.at_hub("key", "trust", ours, "--name", name, *speaks, "--yes", name=hub_side),
        ):
            assert step.code == 0, step

    def trip(self, name: str, *, sealed: bool = False) -> tuple[Run, Run, Run, Run]:
        """Export, import, export, import."""
        plain = () if sealed else (PLAIN,)
        up, down = self.stick(f"{name}.up"), self.stick(f"{name}.down")
        return (
            self.run(name, "sync", "export", "--for", "hub", up, *plain, "--yes"),
            self.at_hub("sync", "import", up, *plain),
            self.at_hub("sync", "export", "--for", self.id(name)[:12], down, *plain, "--yes"),
            self.run(name, "sync", "import", down, *plain),
        )
