"""`satchel demo`: two machines and a warehouse in a temporary folder, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from satchel.cli.command import command
from satchel.cli.door import Door


def make() -> Any:
    """The command."""
    return command("demo", demo)


def demo(door: Door) -> int:
    """Show the main job: two replicas and a hub, offline edits, sync, a conflict, search."""
    door.settings.require_built()
    from satchel.demo import run

    home = Path(door.options.home) if door.options.home else None
    return int(run(door.console, home, door.settings))
