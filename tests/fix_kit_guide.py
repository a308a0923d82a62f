"""The kit's guide, docs/DEPLOY.md "An air gap", typed into shells: the maker's and the site's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from fix_consoles import Ids, Shell, Step, steps_of
from fix_pages import FENCE, ROOT

PAGE = ROOT / "docs" / "DEPLOY.md"
STICK = "/media/stick"
HIDDEN = re.compile(r"^<!-- \$ .* -->$", re.MULTILINE)


def steps(kind: str) -> list[Step]:
    """What the guide types into its consoles of a kind; the hidden steps are the site's."""
    text = PAGE.read_text("utf-8").split("## An air gap\n")[1].split("\n## ")[0]
    parts = [
        (found.start(), f"```console\n{found[2]}```")
        for found in FENCE.finditer(text)
        if found[1] == f"console {kind}"
    ]
    if kind == "site":
        parts += [(found.start(), found[0]) for found in HIDDEN.finditer(text)]
    return steps_of("\n".join(part for _, part in sorted(parts)))


def typed(
    kind: str,
    folder: Path,
    before: Iterable[str],
    stick: Path,
    change: Callable[[str], str] = lambda command: command,
) -> None:
    """Type the guide's commands of a kind into a shell whose home is `folder`; each must do so.

    `before` is typed first and not looked at; the stick is where `/media/stick` leads.
    """
    shell, ids = Shell(folder), Ids()
    try:
        for command in before:
            said, code = shell.run(Step(0, command), command)
            assert code == 0, said
        for step in steps(kind):
            command = change(ids.put_into(step.command)).replace(STICK, shlex.quote(str(stick)))
            shown = "\n".join(step.shown).replace(STICK, str(stick))
            said, code = shell.run(step, command)
            where = f"{PAGE.name}: $ {command}\n{said}"
            assert code == step.exit_code, where
            assert ids.check(shown, said), where
    finally:
        shell.close()
