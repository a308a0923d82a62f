"""`satchel completion SHELL`: the script that completes commands and options."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import typer

from satchel.cli.command import command
from satchel.cli.door import Door

Shell = Literal["bash", "zsh", "fish", "powershell", "pwsh"]


def make() -> Any:
    """The command."""
    return command("completion", completion)


def completion(
    door: Door,
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish|powershell", help="The shell")],
) -> None:
    """Print the completion script of a shell, to be put where that shell reads it."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(
        prog_name="satchel", complete_var="_SATCHEL_COMPLETE", shell=shell
    )
    sys.stdout.write(script + "\n")
