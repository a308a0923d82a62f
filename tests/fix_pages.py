"""What the pages tell to type: every fenced block of commands and every call of satchel in them.

A block ```console is run (`fix_consoles`). Any other block of commands stands in `fix_elsewhere`,
with the test that runs what it says, or the reason why no test can.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
PROGRAMS = r"satchel|make|pip|python3?|sh|psql|createdb|dropdb|pg_\w+|apt-get"


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: its kind, its lines."""

    page: str
    kind: str
    text: str

    @property
    def first(self) -> str:
        """Its first command, without the remark behind it."""
        lines = (line for line in self.text.splitlines() if line and not line.startswith("#"))
        return re.split(r"\s+#", next(lines, ""))[0].strip()

    @property
    def key(self) -> str:
        """By what `fix_elsewhere` names it."""
        return self.kind if self.kind.startswith("console ") else self.first

    def begins(self, words: str) -> bool:
        """Whether `fix_elsewhere` means this block by these words."""
        return self.key.startswith(words)

    @property
    def holds_commands(self) -> bool:
        """Whether somebody would type what is in it."""
        typed = rf"^(?:{PROGRAMS}) \S"
        return self.kind in ("sh", "powershell") or (
            not self.kind and re.search(typed, self.text, re.MULTILINE) is not None
        )


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page."""
    for found in FENCE.finditer(page.read_text("utf-8")):
        yield Block(str(page.relative_to(ROOT)), found[1].strip(), found[2])


# ---- calls of satchel ---------------------------------------------------------------------------


def calls(page: Path) -> Iterator[str]:
    """Every `satchel …` that a page names, in blocks and within its text."""
    for block in blocks(page):
        for line in block.text.replace("\\\n", " ").splitlines():
            if not line.rstrip().endswith("# exit 2"):
                yield from (one.split(" | ")[0] for one in _in_line(line.removeprefix("$ ")))
    for span in SPAN.findall(FENCE.sub("", page.read_text("utf-8"))):
        yield from _in_line(span.replace("\\|", "|"))  # as it is written within a table


def _in_line(line: str) -> Iterator[str]:
    """The words behind each `satchel` that stands where a command does."""
    for found in re.finditer(r"(?:^|[(;] ?|&& |\| |\b[A-Z_]+=\S+ )satchel ([^;&>#)]+)", line):
        yield found[1].strip()


def mistakes(call: str, command: Any) -> list[str]:
    """What of a call the tree of commands does not know."""
    words = _words(call)
    path = ["satchel"]
    wrong: list[str] = []
    while words:
        word = words.pop(0)
        if word == "|":
            break
        if word.startswith("-") and word != "-":
            names = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            option = word.split("=")[0]
            if option != "--help" and option not in names:
                wrong.append(f"{' '.join(path)} has no {option}")
            elif "=" not in word and words and _takes_a_value(command, option):
                words.pop(0)
        elif hasattr(command, "loaders") and re.fullmatch(r"[a-z][a-z|-]*", word):
            known = [name for name in word.split("|") if name in command.loaders]
            if known != word.split("|"):
                return [*wrong, f"{' '.join(path)} has no {word}"]
            command = command.get_command(None, known[0])
            path.append(known[0])
    return wrong


def _words(call: str) -> list[str]:
    """The words of a call; brackets of what may be left out are taken away."""
    plain = re.sub(r"[\[\]…]", " ", re.sub(r"(?<=[a-z]) ?\| ?(?=[a-z])", "|", call))
    try:
        return shlex.split(plain)
    except ValueError:
        return plain.split()


def _takes_a_value(command: Any, option: str) -> bool:
    for one in command.params:
        if option in (*one.opts, *one.secondary_opts):
            return not getattr(one, "is_flag", False) and not getattr(one, "count", False)
    return False
