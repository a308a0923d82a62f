"""A guide's commands: read out of the page, so that page and test cannot differ.

A block ```console hub holds what root types on the hub (`# `), ```console machine what a user types
on a machine (`$ `), ```console rescue what root types when the hub is lost (`# `). What is shown
below a command is compared as in tests/fix_consoles.py. A word in capitals that an answer shows as
a value, `"password": "PASSWORD"`, is learned there and put into the commands that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from fix_consoles import Ids, Step

PAGE = Path(__file__).parents[1] / "docs/DEPLOY.md"
PROMPTS = {"hub": "# ", "machine": "$ ", "rescue": "# "}
LEARNED = re.compile(r'"(\w+)": "([A-Z]{2,})"')


@dataclass
class Typed(Step):
    """One command, and where it is typed: `hub`, `machine` or `rescue`."""

    place: str = "hub"
    heading: str = ""


def guide(section: str, places: tuple[str, ...] = ("hub", "machine")) -> list[Typed]:
    """The commands of the page's section of that heading, in order, that are typed there."""
    steps: list[Typed] = []
    inside = heading = ""
    here = continued = False
    for number, line in enumerate(PAGE.read_text("utf-8").splitlines(), start=1):
        if not inside and line.startswith("## "):
            here = line == f"## {section}"
        elif not inside and line.startswith("### "):
            heading = line.removeprefix("### ")
        elif line.startswith("```"):
            found = re.fullmatch(r"```console (hub|machine|rescue)", line)
            inside, continued = ("" if inside else found[1] if found else "other"), False
        elif here and inside in PROMPTS and line.startswith(PROMPTS[inside]):
            steps.append(Typed(number, line[2:], place=inside, heading=heading))
        elif here and inside in PROMPTS and continued:
            steps[-1].command += "\n" + line
        elif here and inside in PROMPTS:
            steps[-1].shown.append(line)
        continued = inside in PROMPTS and line.endswith("\\")
    return [step for step in steps if step.place in places]


@dataclass
class Reader:
    """Who compares answers with the page, and remembers what they told."""

    ids: Ids = field(default_factory=Ids)
    learned: dict[str, str] = field(default_factory=dict)

    def typed(self, step: Typed) -> str:
        """The command with what was learned in its place."""
        command = step.command
        for word, value in self.learned.items():
            command = re.sub(rf"\b{word}\b", value, command)
        return command

    def check(self, step: Typed, said: str, code: int) -> None:
        """Fail where the answer is not what the page shows."""
        shown = "\n".join(step.shown)
        for key, word in LEARNED.findall(shown):
            told = re.search(rf'"{key}": "([^"]+)"', said)
            assert told, f"DEPLOY.md:{step.line}: no {key} in {said}"
            self.learned[word] = told[1]
            shown = shown.replace(f'"{word}"', f'"{told[1]}"')
        where = f"DEPLOY.md:{step.line}: {step.command}\n{said}\nexit {code}"
        assert code == step.exit_code, where
        assert self.ids.check(shown, said), where
