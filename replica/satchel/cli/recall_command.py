"""`satchel recall` as typer has it, for its help and for whatever is not plainly typed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli import recall
from satchel.cli.command import command
from satchel.cli.door import Door


def make() -> Any:
    """The command."""
    return command("recall", shown, "Tell the few memories that matter now, or nothing")


def shown(
    door: Door,
    hook: Annotated[
        str | None,
        typer.Option(
            "--hook",
            metavar="claude-code|codex|gemini-cli",
            help="Answer a hook of this host: its JSON on stdin, its format on stdout",
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="TEXT",
            help="What is about to be asked; without it what this folder's project needs",
            show_default=False,
        ),
    ] = None,
    max_tokens: Annotated[
        str | None,
        typer.Option(
            "--max-tokens",
            metavar="N",
            help="Tokens at most, about 4 characters each",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Give what matters, in the host's format under --hook, else as {hits, tokens}."""
    return recall.recall(door, hook, prompt, max_tokens)
