"""The plain call of a tool, read without typer: to import typer takes as long as all of a search.

What is read here means the same to typer: global options, the tool's name, then arguments and
options by their full names, each value behind its option. All else is left to typer, which knows
help, mistakes, completion, `--name=value` and more. A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from satchel.cli.call import run_tool
from satchel.cli.door import Door, Globals
from satchel.cli.options import JSON_FILE, flag, in_order, names_of
from satchel.cli.words import GLOBALS, Option, Other, Said, take, take_globals
from satchel.tools import catalog
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool


class Call(NamedTuple):
    """A tool with what was typed for it, and the words that name it."""

    tool: Tool
    command: str
    options: Globals
    json_file: str | None
    typed: Said

    def run(self) -> int:
        """The exit code."""
        return run_tool(Door(self.options), self.tool, self.typed, self.json_file, self.command)


def read(words: Sequence[str]) -> Call | None:
    """The call that these words are, or None where typer has to read them."""
    rest = list(words)
    try:
        before, _ = take(rest, GLOBALS, among_words=False)
        tool, command = _tool(rest)
        said = _arguments(tool, rest)
    except Other:
        return None
    options = Globals(**before).overridden(take_globals(said))
    return Call(tool, command, options, said.pop(JSON_FILE, None), said)


def _tool(rest: list[str]) -> tuple[Tool, str]:
    """Take the words that name a tool off the front."""
    name = rest.pop(0) if rest else ""
    if name in catalog.SHORT:
        return catalog.in_module(*catalog.SHORT[name]), f"satchel {name}"
    verb = rest.pop(0) if rest else ""
    known = name in catalog.MODULES and "_" not in verb
    tool = catalog.of_verb(name, verb.replace("-", "_")) if known else None
    if tool is None:
        raise Other
    return tool, f"satchel {name} {verb}"


def _arguments(tool: Tool, rest: list[str]) -> Said:
    """What is said behind the name: the tool's parameters and the global options."""
    said, words = take(rest, _known(tool), among_words=True)
    for one in in_order(tool)[: len(tool.positional)]:
        if one.many and words:
            said[one.name], words = words, []
        elif words:
            said[one.name] = words.pop(0)
    if words:
        raise Other
    return said


def _known(tool: Tool) -> dict[str, Option]:
    """The names of a tool's options, with what each sets."""
    found = {**GLOBALS, flag(JSON_FILE): Option(JSON_FILE)}
    for one in in_order(tool)[len(tool.positional) :]:
        for name in names_of(tool, one):
            yes, _, no = name.partition("/")
            found[yes] = _option(one, True)
            if no:
                found[no] = _option(one, False)
    return found


def _option(one: Parameter, value: bool) -> Option:
    return Option(one.name, value if one.base == "boolean" else None, one.many)
