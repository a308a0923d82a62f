"""`satchel sync`: reconcile this replica with its warehouse, and look at how that went."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli import bundle_command
from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.progress import Step, progress
from satchel.tools.answer import jsonable


def make() -> Any:
    """The command group; without a verb it syncs once."""
    return group(
        "sync",
        "Reconcile this replica with its warehouse, both ways, last write wins",
        lambda: {
            "status": lambda: command("status", status),
            "verify": lambda: command("verify", verify),
            "conflicts": lambda: group(
                "conflicts", "What last write wins put aside", _conflicts_table
            ),
            "quarantine": lambda: command("quarantine", quarantine),
            "explain": lambda: command("explain", explain),
            **bundle_command.verbs(),
        },
        default=once,
    )


def _conflicts_table() -> dict[str, Any]:
    return {
        "list": lambda: command("list", conflicts_list),
        "show": lambda: command("show", conflicts_show),
        "restore": lambda: command("restore", conflicts_restore),
    }


def once(
    door: Door,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Accept that file and hub do not know each other")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            "--every", metavar="TIME", help="Again and again: 1h; below 1m: stay in touch"
        ),
    ] = None,
) -> int:
    """Reconcile this replica with its warehouse, once or every so often."""
    from satchel import peers

    if every is not None:
        from satchel.cli.every import sync_every

        def again(step: Step) -> dict[str, Any]:
            return peers.sync_once(door.settings, progress=step)

        return sync_every(door, every, again, adopt=adopt)
    with progress(door) as step:
        report = peers.sync_once(door.settings, adopt=adopt, progress=step)
    door.answer(report, changed=True)
    return int(report["exit"])


def status(door: Door) -> None:
    """What waits to be sent, how the last syncs went, and whether this machine gets on."""
    from satchel.replica import open_replica
    from satchel.syncing import told
    from satchel.syncing.status import status as standing

    with open_replica(door.settings) as replica:
        answer = told.standing(replica.caller, standing(replica.store))
    door.answer(answer)
    if answer["stuck"]:
        door.note(answer["stuck"])


def verify(
    door: Door,
    repair: Annotated[
        bool, typer.Option("--repair", help="Sync, and heal what is damaged from the other side")
    ] = False,
) -> int:
    """Read and compare every row of this replica and the warehouse."""
    from satchel import peers

    with progress(door) as step:
        report = peers.sync_verify(door.settings, repairing=repair, progress=step)
    door.answer(report, changed=repair)
    return int(report["exit"])


def conflicts_list(door: Door) -> None:
    """The writes on this machine that a later one replaced."""
    from satchel.replica import open_replica
    from satchel.syncing import conflicts

    with open_replica(door.settings) as replica:
        door.answer({"items": jsonable(conflicts.listed(replica))})


Entry = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="A lost version, 8 or more of its first or last digits, or a row's id"
    ),
]


def conflicts_show(door: Door, entry: Entry) -> None:
    """One lost version beside what is held now, column by column."""
    from satchel.replica import open_replica
    from satchel.syncing import conflicts

    with open_replica(door.settings) as replica:
        door.answer(jsonable(conflicts.show(replica, entry)))


def conflicts_restore(door: Door, entry: Entry) -> None:
    """Make a lost version the newest one; what it replaces stays in the row's history."""
    from satchel.replica import open_replica
    from satchel.syncing import conflicts

    with open_replica(door.settings) as replica:
        door.answer(jsonable(conflicts.restore(replica, entry)), changed=True)


def quarantine(door: Door) -> None:
    """Rows that the warehouse or this replica could not take, and why."""
    from satchel.replica import open_replica
    from satchel.syncing import held_back

    with open_replica(door.settings) as replica:
        door.answer({"items": held_back.listed(replica)})


def explain(
    door: Door,
    row: Annotated[str, typer.Argument(metavar="ID", help="Of a row of any kind")],
) -> None:
    """Where one row stands: who wrote it, whether it was sent, why it stays."""
    from satchel.replica import open_replica
    from satchel.syncing.explain import explain as explained

    with open_replica(door.settings) as replica:
        door.answer(explained(replica, row))
