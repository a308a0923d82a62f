"""`satchel demo`: two machines and a warehouse in a temporary folder, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.errors import ConfirmationNeeded


def make() -> Any:
    """The command."""
    return command("demo", demo)


def demo(
    door: Door,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Keep the report on the demo's warehouse here"),
    ] = None,
) -> int:
    """Show the main job: two replicas and a hub, offline edits, sync, a conflict, search."""
    door.settings.require_built()
    from satchel.demo import run

    if html is not None and html.exists():
        raise ConfirmationNeeded(
            f"{html} is there already", hint="give another name, or remove it", field="html"
        )
    home = Path(door.options.home) if door.options.home else None
    return int(run(door.console, home, door.settings, html))
