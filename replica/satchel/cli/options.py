"""How a tool's parameters and the global options are written in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import __version__

if TYPE_CHECKING:
    from satchel.tools.parameter import Parameter
    from satchel.tools.tool import Tool

VERSION = f"satchel {__version__}\n"
"""What `--version` prints."""
GLOBAL_OPTIONS = (
    ("home", "PATH", "The replica's folder"),
    ("agent", "ID", "Who asks; without it the operator does"),
    ("user", "ID", "The user that rows are about"),
    ("json", None, "Answer in JSON, also at a terminal"),
    ("quiet", None, "No remarks on stderr"),
    ("verbose", None, "Tracebacks of unexpected errors"),
    ("no_color", None, "No colour"),
)
"""Name, metavar and help of what every command takes; without a metavar it is a flag."""
GLOBAL_NAMES = frozenset(name for name, _, _ in GLOBAL_OPTIONS)
JSON_FILE = "json_file"
"""What every tool takes beside its own: its arguments as one JSON object."""


def flag(name: str) -> str:
    """`no_color` as it is typed: `--no-color`."""
    return "--" + name.replace("_", "-")


def in_order(tool: Tool) -> list[Parameter]:
    """A tool's parameters: the positional ones in their order, then the rest."""
    named = {one.name: one for one in tool.parameters}
    rest = [one for one in tool.parameters if one.name not in tool.positional]
    return [*(named[name] for name in tool.positional), *rest]


def metavar(one: Parameter) -> str:
    """`ids` as it stands in a usage line: `ID...`."""
    return one.name.removesuffix("s").upper() + ("..." if one.many else "")


def usage(tool: Tool, command: str) -> str:
    """What has to be typed: `satchel write TEXT`."""
    return " ".join([command, *(metavar(one) for one in in_order(tool) if one.required)])


def names_of(tool: Tool, one: Parameter) -> tuple[str, ...]:
    """The names of an option; `--pin/--no-pin` is one that can also be said to be false."""
    if one.name == "confirm":
        return ("--yes", "-y")
    long = flag(one.name)
    if one.base == "boolean" and one.nullable:
        return (f"{long}/--no-{long[2:]}",)
    singular = ("--" + name for name, plural in tool.synonyms.items() if plural == one.name)
    return (*tool.short.get(one.name, ()), long, *singular)
