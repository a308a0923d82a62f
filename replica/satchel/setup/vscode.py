"""Visual Studio Code: the servers of its user, in mcp.json of each editor that is here."""

from __future__ import annotations

from functools import partial

from satchel.setup import servers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "vscode"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """A file an editor."""
    entry = {"type": "stdio", "command": program.command, "args": program.server(NAME)}
    return [
        SettingsFile(
            folder / "mcp.json",
            partial(servers.put, under=("servers",), entry=entry),
            partial(servers.take, under=("servers",)),
        )
        for folder in machine.editors()
    ]


HOST = Host(
    name=NAME,
    title="Visual Studio Code",
    present=lambda machine: any(one.is_dir() for one in machine.editors()) or machine.finds("code"),
    files=files,
    notes=lambda machine: ("Visual Studio Code asks once whether it may start the new server",),
)
