"""`satchel sync export | import | inspect`: sync over an air gap, by files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress

File = Annotated[Path, typer.Argument(metavar="FILE", help="The bundle")]
Plain = Annotated[
    bool,
    typer.Option(
        "--insecure-plain", help="In the clear: anybody who finds it can read and forge it"
    ),
]


def verbs() -> dict[str, Any]:
    """The commands by name."""
    return {
        "export": lambda: command("export", export),
        "import": lambda: command("import", import_),
        "inspect": lambda: command("inspect", inspect),
    }


def export(
    door: Door,
    file: File,
    to: Annotated[
        str,
        typer.Option(
            "--for", metavar="WHO", help="`hub`, or 8 or more digits of a replica's id (at the hub)"
        ),
    ],
    plain: Plain = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write over a file that is there")] = False,
) -> int:
    """Write a bundle: what this replica has for the hub, or what the hub has for a replica."""
    require_operator(door, "bundles are")
    from satchel import carrying

    overwrite = yes or (file.exists() and door.asked(f"write over {file}?"))
    with progress(door) as step:
        made = carrying.export(
            door.settings, to, file, plain=plain, overwrite=overwrite, progress=step
        )
    door.answer(made, changed=True)
    return int(made["exit"])


def import_(door: Door, file: File, plain: Plain = False) -> int:
    """Take a bundle in: at the warehouse what a replica sent, at a replica what the hub sent."""
    require_operator(door, "bundles are")
    from satchel import carrying

    with progress(door) as step:
        report = carrying.import_(door.settings, file, plain=plain, progress=step)
    door.answer(report, changed=True)
    return int(report["exit"])


def inspect(door: Door, file: File) -> int:
    """What a bundle holds, for and by whom, and whether it is whole; nothing is imported."""
    from satchel import carrying

    found = carrying.inspect(door.settings, file)
    door.answer(found)
    return 1 if found["damage"] else 0
