"""Codex: its servers in ~/.codex/config.toml, its hooks in ~/.codex/hooks.json."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from satchel.setup import codex_toml, hook_entries
from satchel.setup.handlers import handlers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "codex"
FOLDER, VARIABLE = ".codex", "CODEX_HOME"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """The two files."""
    folder = _folder(machine)
    entry = {"command": program.command, "args": program.server(NAME)}
    wanted = handlers(program, NAME)
    return [
        SettingsFile(
            folder / "config.toml",
            partial(codex_toml.put, entry=entry),
            codex_toml.take,
        ),
        SettingsFile(
            folder / "hooks.json",
            partial(hook_entries.put, host=NAME, wanted=wanted),
            partial(hook_entries.take, host=NAME),
        ),
    ]


def notes(machine: Machine) -> list[str]:
    """Codex runs no hook that its user has not looked at."""
    told = ["Codex runs a new hook once you trust it: type /hooks there"]
    if codex_toml.hooks_are_off(_folder(machine) / "config.toml"):
        told.append("hooks are switched off in its config.toml: [features] hooks = false")
    return told


def _folder(machine: Machine) -> Path:
    return machine.dotfolder(VARIABLE, FOLDER)


HOST = Host(
    name=NAME,
    title="Codex",
    present=lambda machine: _folder(machine).is_dir() or machine.finds("codex"),
    files=files,
    notes=notes,
)
