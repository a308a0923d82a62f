"""`satchel export PATH`: write what the caller may see to a file, a folder or stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door, ReaderGone
from satchel.cli.progress import progress


def make() -> Any:
    """The command."""
    return command("export", export)


def export(
    door: Door,
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A file; of markdown a new folder, or one .md file; - = stdout"
        ),
    ],
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="jsonl (nothing is lost) or markdown (to be read); default: jsonl, or what .md is",
        ),
    ] = None,
    vectors: Annotated[
        bool, typer.Option("--vectors/--no-vectors", help="With the vectors of memories")
    ] = True,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write over a file that is there")
    ] = False,
) -> int:
    """Write every row that you may see; `satchel import jsonl` takes it in again, nothing lost."""
    from satchel.exporting.run import FORMATS, STDOUT
    from satchel.exporting.run import export as run
    from satchel.memory.text import one_of
    from satchel.replica import open_replica

    by_name = "markdown" if Path(path).suffix.lower() == ".md" else "jsonl"
    chosen = one_of(by_name if format is None else format, FORMATS, "format")
    overwrite = yes or (
        path != STDOUT and Path(path).is_file() and door.asked(f"write over {path}?")
    )
    with open_replica(door.settings) as replica, progress(door) as step:
        try:
            answer, exit_code = run(
                replica, chosen, path, step, overwrite=overwrite, vectors=vectors
            )
        except BrokenPipeError as error:  # as in Door.answer
            raise ReaderGone from error
    if path != STDOUT:
        door.answer(answer, changed=True)
    elif exit_code:
        door.note(f"{answer['left_out']} rows were left out: {answer['left'][0]['reason']}")
    return exit_code
