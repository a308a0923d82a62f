"""`satchel doctor`: what is well on this machine, what is not, and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door

if TYPE_CHECKING:
    from satchel.doctor import Check


def make() -> Any:
    """The command."""
    return command("doctor", doctor)


def doctor(
    door: Door,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline", help="Leave out what needs a network, and prove that the rest does not"
        ),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Mend what is derived or left over, and who may read a file"),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With --fix: remove without asking")
    ] = False,
) -> int:
    """Check this machine's replica, engines, config and warehouse; exit 1 if a check fails."""
    from satchel.doctor.examining import answer

    checks = _examined(door, offline=offline)
    if fix:
        from satchel.doctor.mending import mended, noted

        done = mended(checks, lambda question: yes or door.asked(question))
        checks = noted(_examined(door, offline=offline) if done else checks, done)
    if offline and not any(check.name == "config" and check.ok == "fail" for check in checks):
        from satchel.doctor.network import offline as proved

        checks.append(proved(door.settings))
    told = answer(checks)
    if door.json:
        door.answer(told, changed=fix)
    else:
        from satchel.cli.doctor_table import show

        show(door.console, checks)
    return 0 if told["ok"] else 1


def _examined(door: Door, *, offline: bool) -> list[Check]:
    from satchel.doctor import examine

    return examine(lambda: door.settings, offline=offline)
