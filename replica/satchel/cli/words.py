"""Plain words of a command line: options by their full names, each value behind its option.

What is read here means the same to typer; all else raises `Other` and is typer's to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from satchel.cli.options import GLOBAL_OPTIONS, flag

Said = dict[str, Any]
"""Parameter -> a text, a list of texts, True or False."""


class Other(Exception):
    """This is for typer to read."""


class Option(NamedTuple):
    """What an option's name sets: a value that follows, or this one; `many` values, or one."""

    name: str
    value: bool | None = None
    many: bool = False


GLOBALS = {
    flag(name): Option(name, None if metavar else True) for name, metavar, _ in GLOBAL_OPTIONS
}


def take(
    rest: list[str], known: Mapping[str, Option], *, among_words: bool
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
            raise Other
        value = _value(rest) if option.value is None else option.value
        said[option.name] = [*said.get(option.name, ()), value] if option.many else value
    return said, words


def take_globals(said: Said) -> Said:
    """The global options among what was said, taken out of it; None = not said."""
    return {option.name: said.pop(option.name, None) for option in GLOBALS.values()}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"  # `-` alone is stdin


def _value(rest: list[str]) -> str:
    """The word behind an option; one that looks like another option is for typer to judge."""
    if not rest or _is_option(rest[0]):
        raise Other
    return rest.pop(0)
