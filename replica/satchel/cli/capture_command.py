"""`satchel chatlog capture` as typer has it, for its help and for whatever is not plainly typed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli import capture
from satchel.cli.command import command
from satchel.cli.door import Door

_HOSTS = "claude-code|codex|gemini-cli"


def make() -> Any:
    """The command."""
    return command("capture", captured, "Keep what hosts wrote of conversations, each turn once")


def captured(
    door: Door,
    notification: Annotated[
        str | None,
        typer.Argument(
            metavar="NOTIFICATION", help="What `notify` of Codex adds", show_default=False
        ),
    ] = None,
    hook: Annotated[
        str | None,
        typer.Option(
            "--hook",
            metavar=_HOSTS,
            help="Capture the session of the hook call on stdin; silent, and ends with 0 always",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="PATH", help="Capture this file", show_default=False),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Capture all that the hosts of this machine wrote"),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar=_HOSTS,
            help="Who wrote the file, or whose files with --all; else what it looks like, or all",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="agent|space|user|org",
            help="Who sees the turns; without it the user, or the configured agent",
            show_default=False,
        ),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option("--space", metavar="NAME", help="A shared pool", show_default=False),
    ] = None,
    results: Annotated[
        bool,
        typer.Option("--results", help="Keep the beginning of what tools answered too"),
    ] = False,
) -> int:
    """Read transcripts of Claude Code, Codex and Gemini CLI into the chat log, without secrets.

    Whatever was captured before is left alone, so a file may be captured as often as one likes.
    """
    wanted = capture.Wanted(hook, file, everything, host, scope, space, results, notification)
    return capture.capture(door, wanted)
