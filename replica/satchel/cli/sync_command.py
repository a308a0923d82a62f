"""`satchel sync`: reconcile this replica with its warehouse, and look at how that went."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.progress import progress
from satchel.tools.answer import jsonable


def make() -> Any:
    """The command group; without a verb it syncs once."""
    listing = {"list": lambda: command("list", conflicts_list)}
    return group(
        "sync",
        "Reconcile this replica with its warehouse, both ways, last write wins",
        lambda: {
            "status": lambda: command("status", status),
            "conflicts": lambda: group(
                "conflicts", "What last write wins put aside", lambda: listing
            ),
            "quarantine": lambda: command("quarantine", quarantine),
        },
        default=once,
    )


def once(
    door: Door,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Accept that file and hub do not know each other")
    ] = False,
) -> int:
    """Reconcile this replica with its warehouse, once."""
    from satchel import peers

    with progress(door) as step:
        report = peers.sync_once(door.settings, adopt=adopt, progress=step)
    door.answer(report, changed=True)
    return int(report["exit"])


def status(door: Door) -> None:
    """What waits to be sent, and how the last syncs went."""
    from satchel import peers

    door.answer(peers.sync_status(door.settings))


def conflicts_list(door: Door) -> None:
    """The writes on this machine that a later one replaced."""
    from satchel import peers

    door.answer({"items": jsonable(peers.conflicts(door.settings))})


def quarantine(door: Door) -> None:
    """Rows that the warehouse or this replica could not take, and why."""
    from satchel import peers

    door.answer({"items": peers.quarantine(door.settings)})
