"""Cursor: its servers in ~/.cursor/mcp.json."""

from __future__ import annotations

from functools import partial

from satchel.setup import servers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "cursor"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """The one file."""
    entry = {"command": program.command, "args": program.server(NAME)}
    return [
        SettingsFile(
            machine.home / ".cursor" / "mcp.json",
            partial(servers.put, under=("mcpServers",), entry=entry),
            partial(servers.take, under=("mcpServers",)),
        )
    ]


HOST = Host(
    name=NAME,
    title="Cursor",
    present=lambda machine: (machine.home / ".cursor").is_dir() or machine.finds("cursor"),
    files=files,
    notes=lambda machine: ("Cursor asks once whether the new server may run: Settings, MCP",),
)
