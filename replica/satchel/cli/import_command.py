"""`satchel import FORMAT PATH`: take in what other memories hold."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress


def make() -> Any:
    """The command."""
    return command("import", import_)


def _option(name: str, metavar: str, help: str) -> Any:  # noqa: A002
    return typer.Option(name, metavar=metavar, help=help, show_default=False)


def import_(
    door: Door,
    format: Annotated[  # noqa: A002
        str,
        typer.Argument(
            metavar="FORMAT",
            help="jsonl, markdown, server-memory, mem0, m3-memory, claude-code, codex, gemini-cli",
        ),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file or folder; - = stdin")],
    scope: Annotated[
        str | None, _option("--scope", "SCOPE", "Whose they are: agent, session, space, user, org")
    ] = None,
    space: Annotated[str | None, _option("--space", "NAME", "Into this space")] = None,
    session: Annotated[str | None, _option("--session", "ID", "Into this session")] = None,
    type: Annotated[str | None, _option("--type", "TYPE", "Of this type, all")] = None,  # noqa: A002
    source: Annotated[
        str | None, _option("--source", "NAME", "Name of the source; default: format and path")
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Never leave this machine")] = False,
) -> int:
    """Take in what other memories hold; to import the same again changes nothing.

    A record that cannot be taken is told with its line, and the rest goes in: exit 1 then.
    """
    from satchel.importing.formats import format_of
    from satchel.importing.run import import_ as run
    from satchel.importing.target import Target
    from satchel.replica import open_replica

    target = Target(
        scope=scope, space=space, session=session, type=type, source=source, local=local
    )
    if format_of(format).exact:
        require_operator(door, "an import of rows as they are is")
    with open_replica(door.settings) as replica, progress(door) as step:
        answer, exit_code = run(replica, format, path, target, step)
    door.answer(answer, changed=True)
    return exit_code
