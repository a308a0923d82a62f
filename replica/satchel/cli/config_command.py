"""`satchel config show|set`: what this process was told, and by whom."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel import config, config_file
from satchel.cli.command import command, group
from satchel.cli.door import Door


def make() -> Any:
    """The command group."""
    return group(
        "config",
        "What this machine's satchel was told",
        lambda: {"show": lambda: command("show", show), "set": lambda: command("set", set_)},
    )


def show(
    door: Door,
    origin: Annotated[
        bool, typer.Option("--origin", help="Tell where each value came from, and every variable")
    ] = False,
) -> None:
    """Every setting and its value; passwords are masked."""
    kept = ("setting", "value", "origin", "environment", "help") if origin else ("setting", "value")
    rows = [{key: row[key] for key in kept} for row in config.show(door.settings)]
    for name, hint in config.unknown_variables():
        door.note(f"{name} is set, but is no setting of satchel. {hint}".rstrip())
    door.answer({"settings": rows, "file": str(door.settings.home / config.CONFIG_FILE)})


def set_(
    door: Door,
    setting: Annotated[str, typer.Argument(metavar="SECTION.KEY", help="The setting")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value")],
) -> None:
    """Write one setting into config.toml; the rest of the file stays as it is."""
    path = config_file.set_value(door.settings.home, setting, value)
    door.answer({"setting": setting, "file": str(path)})
