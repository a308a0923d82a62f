"""`satchel doctor`: what is well on this machine, what is not, and how to mend it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door


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
) -> int:
    """Check this machine's replica, engines, config and warehouse; exit 1 if a check fails."""
    from satchel.doctor import examine

    checks = examine(lambda: door.settings, offline=offline)
    if offline and not any(check.name == "config" and check.ok == "fail" for check in checks):
        from satchel.doctor_network import offline as proved

        checks.append(proved(door.settings))
    failed = any(check.ok == "fail" for check in checks)
    door.answer({"ok": not failed, "checks": [check.as_dict() for check in checks]})
    return 1 if failed else 0
