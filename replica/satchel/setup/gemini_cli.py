"""Gemini CLI: its servers and hooks in ~/.gemini/settings.json."""

from __future__ import annotations

from pathlib import Path

from satchel.setup import hook_entries, servers
from satchel.setup.handlers import handlers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "gemini-cli"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """The one file."""
    entry = {"command": program.command, "args": program.server(NAME)}
    # This host counts in milliseconds, and shows a hook by its name.
    wanted = {
        moment: {"name": f"satchel-{moment}", **handler}
        for moment, handler in handlers(program, NAME, per_second=1_000).items()
    }

    def put(text: str) -> str:
        return hook_entries.put(servers.put(text, ("mcpServers",), entry), NAME, wanted)

    def take(text: str) -> str:
        return servers.take(hook_entries.take(text, NAME), ("mcpServers",))

    return [SettingsFile(_folder(machine) / "settings.json", put, take)]


def notes(machine: Machine) -> list[str]:
    """Hooks are on unless somebody switched them off; before version 0.26 it was the other way."""
    switches = (("hooksConfig", "enabled"), ("tools", "enableHooks"))
    settings = _folder(machine) / "settings.json"
    off = [keys for keys in switches if hook_entries.says(settings, *keys) is False]
    if off:
        return [f"hooks are switched off in its settings.json: {'.'.join(off[0])}"]
    return ["Gemini CLI before 0.26 runs hooks only with tools.enableHooks"]


def _folder(machine: Machine) -> Path:
    # The variable names what stands in for the user's home, not the folder itself.
    return machine.dotfolder("GEMINI_CLI_HOME", "") / ".gemini"


HOST = Host(
    name=NAME,
    title="Gemini CLI",
    present=lambda machine: _folder(machine).is_dir() or machine.finds("gemini"),
    files=files,
    notes=notes,
)
