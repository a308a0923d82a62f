"""OpenCode: its servers in ~/.config/opencode/opencode.json or opencode.jsonc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from satchel.setup import jsonc, servers
from satchel.setup.host import Host, SettingsFile
from satchel.setup.machine import Machine
from satchel.setup.program import Program

NAME = "opencode"
SCHEMA = "https://opencode.ai/config.json"


def files(machine: Machine, program: Program) -> list[SettingsFile]:
    """The one file; a new one names its schema, as OpenCode's own do."""
    entry = {"type": "local", "command": [program.command, *program.server(NAME)], "enabled": True}

    def put(text: str) -> str:
        if not text.strip():
            text = jsonc.put(text, ("$schema",), SCHEMA)
        held = jsonc.find(jsonc.read(text), (*_under(text), "satchel"))
        kept = _kept(held.value) if held else {}
        return servers.put(text, _under(text), {**entry, **kept})

    def take(text: str) -> str:
        text = servers.take(text, _under(text))
        return "" if text.strip() and jsonc.value_of(text) == {"$schema": SCHEMA} else text

    return [SettingsFile(_path(machine), put, take)]


def _kept(held: Any) -> dict[str, Any]:
    """Whether a user has switched the server off is the user's."""
    said = held.get("enabled") if isinstance(held, dict) else None
    return {"enabled": said} if isinstance(said, bool) else {}


def _under(text: str) -> tuple[str, ...]:
    """OpenCode 2 has the servers in an object of their own; it reads the older form too."""
    found = jsonc.find(jsonc.read(text), ("mcp", "servers")) if text.strip() else None
    newer = found is not None and isinstance(found.value, dict) and "type" not in found.value
    return ("mcp", "servers") if newer else ("mcp",)


def _path(machine: Machine) -> Path:
    said = machine.variables.get("OPENCODE_CONFIG", "").strip()
    if said:
        return Path(said)
    folder = _folder(machine)
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _folder(machine: Machine) -> Path:
    said = machine.variables.get("OPENCODE_CONFIG_DIR", "").strip()
    return Path(said) if said else machine.xdg_config / "opencode"


HOST = Host(
    name=NAME,
    title="OpenCode",
    present=lambda machine: _folder(machine).is_dir() or machine.finds("opencode"),
    files=files,
)
