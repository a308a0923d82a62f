"""The hosts that setup knows."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.errors import InvalidInput, did_you_mean
from satchel.setup import claude_code, cline, codex, cursor, gemini_cli, opencode, vscode
from satchel.setup.host import Host
from satchel.setup.machine import Machine

HOSTS: tuple[Host, ...] = (
    claude_code.HOST,
    codex.HOST,
    cursor.HOST,
    gemini_cli.HOST,
    cline.HOST,
    opencode.HOST,
    vscode.HOST,
)
NAMES = tuple(one.name for one in HOSTS)


def chosen(names: Sequence[str], machine: Machine) -> list[Host]:
    """The hosts of these names; without names those that are on this machine.

    Raises InvalidInput for a name that none has.
    """
    for name in names:
        if name not in NAMES:
            raise InvalidInput(
                f"no host is called {name!r}",
                hint=did_you_mean(name, NAMES) or f"known are {', '.join(NAMES)}",
                field="host",
            )
    if names:
        return [one for one in HOSTS if one.name in names]
    return [one for one in HOSTS if one.present(machine)]
