"""`satchel restore`: a backup in the place of this machine's replica, as a new identity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.cli.operator import require_operator


def make() -> Any:
    """The command."""
    return command("restore", restore)


def restore(
    door: Door,
    backup: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="What `backup --list` shows: a path or name")
    ],
    other_replica: Annotated[
        bool,
        typer.Option("--other-replica", help="Take the backup of another machine's replica"),
    ] = False,
    forgotten: Annotated[
        list[Path] | None,
        typer.Option(
            "--forgotten", metavar="FILE", help="A certificate: what it names is forgotten again"
        ),
    ] = None,
    forgotten_unread: Annotated[
        bool,
        typer.Option(
            "--forgotten-unread", help="Go on where a damaged file hides what was forgotten"
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Put a backup in the place of the replica; what is there now is kept as another backup."""
    require_operator(door, "restores are")
    from satchel.backup.restoring import restore as restored

    answer = restored(
        door.settings,
        backup,
        confirm=lambda question: yes or door.asked(question),
        other=other_replica,
        certificates=forgotten or (),
        unread=forgotten_unread,
    )
    door.answer(answer, changed=True)
