"""The plain call of a tool, read without typer: to import typer takes as long as all of a search.

What is read here means the same to typer: global options, the tool's name, then arguments and
options by their full names, each value behind its option. All else is left to typer, which knows
help, mistakes, completion, `--name=value` and more. A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from satchel.cli.call import run_tool
from satchel.cli.door import Door, Globals
from satchel.cli.options import GLOBAL_OPTIONS, JSON_FILE, flag, in_order, names_of
from satchel.tools import catalog
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool

Said = dict[str, Any]
"""Parameter -> a text, a list of texts, True or False."""


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


class _Option(NamedTuple):
    """What an option's name sets: a value that follows, or this one; `many` values, or one."""

    name: str
    value: bool | None = None
    many: bool = False


_GLOBALS = {
    flag(name): _Option(name, None if metavar else True) for name, metavar, _ in GLOBAL_OPTIONS
}


class _Other(Exception):
    """This is for typer to read."""


def read(words: Sequence[str]) -> Call | None:
    """The call that these words are, or None where typer has to read them."""
    rest = list(words)
    try:
        before, _ = _options(rest, _GLOBALS, among_words=False)
        tool, command = _tool(rest)
        said = _arguments(tool, rest)
    except _Other:
        return None
    later = {option.name: said.pop(option.name, None) for option in _GLOBALS.values()}
    options = Globals(**before).overridden(later)
    return Call(tool, command, options, said.pop(JSON_FILE, None), said)


def _tool(rest: list[str]) -> tuple[Tool, str]:
    """Take the words that name a tool off the front."""
    name = rest.pop(0) if rest else ""
    if name in catalog.SHORT:
        return catalog.in_module(*catalog.SHORT[name]), f"satchel {name}"
    verb = rest.pop(0) if rest else ""
    tool = catalog.of_verb(name, verb) if name in catalog.MODULES else None
    if tool is None:
        raise _Other
    return tool, f"satchel {name} {verb}"


def _arguments(tool: Tool, rest: list[str]) -> Said:
    """What is said behind the name: the tool's parameters and the global options."""
    said, words = _options(rest, _known(tool), among_words=True)
    for one in in_order(tool)[: len(tool.positional)]:
        if one.many and words:
            said[one.name], words = words, []
        elif words:
            said[one.name] = words.pop(0)
    if words:
        raise _Other
    return said


def _known(tool: Tool) -> dict[str, _Option]:
    """The names of a tool's options, with what each sets."""
    found = {**_GLOBALS, flag(JSON_FILE): _Option(JSON_FILE)}
    for one in in_order(tool)[len(tool.positional) :]:
        for name in names_of(tool, one):
            yes, _, no = name.partition("/")
            found[yes] = _option(one, True)
            if no:
                found[no] = _option(one, False)
    return found


def _option(one: Parameter, value: bool) -> _Option:
    return _Option(one.name, value if one.base == "boolean" else None, one.many)


def _options(
    rest: list[str], known: dict[str, _Option], *, among_words: bool
) -> tuple[Said, list[str]]:
    """Take options off the front, up to the first other word or from `among_words` to the end."""
    said: Said = {}
    words: list[str] = []
    while rest and (among_words or _is_option(rest[0])):
        word = rest.pop(0)
        if not _is_option(word):
            words.append(word)
            continue
        option = known.get(word)
        if option is None or (option.name in said and not option.many):
            raise _Other
        value = _value(rest) if option.value is None else option.value
        said[option.name] = [*said.get(option.name, ()), value] if option.many else value
    return said, words


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"  # `-` alone is stdin


def _value(rest: list[str]) -> str:
    """The word behind an option; one that looks like another option is for typer to judge."""
    if not rest or _is_option(rest[0]):
        raise _Other
    return rest.pop(0)
