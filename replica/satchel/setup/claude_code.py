"""Claude Code: its servers in ~/.claude.json, its hooks in ~/.claude/settings.json."""

from __future__ import annotations

from functools import partial

from satchel.setup import hook_entries, servers
from satchel.setup.handlers import handlers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "claude-code"
FOLDER, VARIABLE = ".claude", "CLAUDE_CONFIG_DIR"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """The two files."""
    folder = machine.dotfolder(VARIABLE, FOLDER)
    # With the variable everything is in that folder, without it the servers are beside it.
    state = folder if machine.variables.get(VARIABLE, "").strip() else machine.home
    entry = {"type": "stdio", "command": program.command, "args": program.server(NAME)}
    wanted = handlers(program, NAME)
    return [
        SettingsFile(
            state / ".claude.json",
            partial(servers.put, under=("mcpServers",), entry=entry),
            partial(servers.take, under=("mcpServers",)),
        ),
        SettingsFile(
            folder / "settings.json",
            partial(hook_entries.put, host=NAME, wanted=wanted),
            partial(hook_entries.take, host=NAME),
        ),
    ]


def notes(machine: Machine) -> list[str]:
    """What remains for the user."""
    told = ["a running Claude Code reads its servers when it starts anew"]
    settings = machine.dotfolder(VARIABLE, FOLDER) / "settings.json"
    if hook_entries.says(settings, "disableAllHooks") is True:
        told.append("hooks are switched off in its settings.json: disableAllHooks")
    return told


HOST = Host(
    name=NAME,
    title="Claude Code",
    present=lambda machine: (
        machine.dotfolder(VARIABLE, FOLDER).is_dir()
        or (machine.home / ".claude.json").exists()
        or machine.finds("claude")
    ),
    files=files,
    notes=notes,
)
