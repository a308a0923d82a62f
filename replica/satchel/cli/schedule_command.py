"""`satchel schedule`: the operating system's timer that syncs this replica."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door


def make() -> Any:
    """The command group."""
    return group(
        "schedule",
        "The timer of systemd, launchd or the Task Scheduler that syncs this replica",
        lambda: {
            "install": lambda: command("install", install),
            "status": lambda: command("status", status),
            "remove": lambda: command("remove", remove),
        },
    )


def install(
    door: Door,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="How often: 15m, 1h, 2h30m, 1d")
    ] = "1h",
) -> None:
    """Make the timer, or change it; the warehouse has to be named in config.toml."""
    from satchel.schedule import manage

    door.answer(
        manage.install(door.settings, every, manage.scheduler_of(door.settings)), changed=True
    )


def status(door: Door) -> None:
    """Whether there is a timer for this home, when it ran and when it will."""
    from satchel.schedule import manage

    door.answer(manage.status(door.settings, manage.scheduler_of(door.settings)))


def remove(door: Door) -> None:
    """Stop the timer and delete its files."""
    from satchel.schedule import manage

    door.answer(manage.remove(door.settings, manage.scheduler_of(door.settings)), changed=True)
