"""`satchel backup`: a copy of this machine's replica, made while others use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.cli.operator import require_operator


def make() -> Any:
    """The command."""
    return command("backup", backup)


def backup(
    door: Door,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Make it there, not in the home's `backups`"),
    ] = None,
    with_keys: Annotated[
        bool,
        typer.Option("--with-keys", help="This machine's keys and its vault too: guard it as them"),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Show the backups that there are")] = False,
) -> None:
    """Make a backup of the replica, its reads and its config, or list those that there are."""
    require_operator(door, "backups are")
    if list_:
        from satchel.backup.listing import list_ as listed

        door.answer(listed(door.settings, out))
        return
    from satchel.backup.making import make as made

    door.answer(made(door.settings, out, with_keys=with_keys), changed=True)
