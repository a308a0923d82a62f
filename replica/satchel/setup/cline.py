"""Cline: its servers in the global storage of each editor, and those of its own command."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from satchel.setup import servers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "cline"
EXTENSION = Path("globalStorage") / "saoudrizwan.claude-dev"
FILE = Path("settings") / "cline_mcp_settings.json"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """A file for each place where Cline is; in the usual editor if it is nowhere yet."""
    entry = {"command": program.command, "args": program.server(NAME)}
    return [
        SettingsFile(
            path,
            partial(servers.put, under=("mcpServers",), entry=entry),
            partial(servers.take, under=("mcpServers",)),
        )
        for path in _paths(machine)
    ]


def _paths(machine: Machine) -> list[Path]:
    said = machine.variables.get("CLINE_MCP_SETTINGS_PATH", "").strip()
    command = Path(said) if said else _own(machine) / "data" / FILE
    editors = [one / EXTENSION / FILE for one in machine.editors()]
    here = [one for one in editors if one.parents[1].is_dir()]
    if said or _own(machine).is_dir():
        here.append(command)
    return here or editors[:1]


def _own(machine: Machine) -> Path:
    return machine.dotfolder("CLINE_DIR", ".cline")


def _present(machine: Machine) -> bool:
    return (
        any((one / EXTENSION).is_dir() for one in machine.editors())
        or _own(machine).is_dir()
        or machine.finds("cline")
    )


HOST = Host(name=NAME, title="Cline", present=_present, files=files)
