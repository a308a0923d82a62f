"""Help over MCP: which tools there are, what one takes and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.errors import UnknownArgument, did_you_mean
from satchel.tools import catalog
from satchel.tools.aliases import ALIASES
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool
from satchel.tools.values import parse

HELP = "help"
_QUERY = Parameter(name="query", base="text")


def answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A tool by its name, those that fit `query`, those of a group, or all by group.

    Raises UnknownArgument, InvalidInput.
    """
    for name in arguments:
        if name != "query":
            raise UnknownArgument(
                f"help has no argument {name[:60]!r}", hint="it takes: query", field=name
            )
    query = parse(_QUERY, arguments.get("query", ""), from_text=False).strip()
    tools = catalog.every()
    if not query:
        return {"tools": [_line(tool) for tool in tools.values()], "groups": _groups()}
    if query in tools:
        return {"tools": [_whole(tools[query])]}
    if query in ALIASES:
        return {"tools": [{**_whole(tools[ALIASES[query].tool]), "also_called": query}]}
    if query in catalog.groups():
        return {"tools": [_line(tools[name]) for name in catalog.groups()[query]]}
    found = catalog.search(query)
    if found:
        return {"tools": [_whole(tool) for tool in found]}
    return {"tools": [], "groups": _groups(), "hint": _hint(query)}


def _hint(query: str) -> str:
    near = did_you_mean(query, [*catalog.every(), *catalog.groups()])
    return near or "no tool has these words: the groups say what there is"


def _groups() -> dict[str, list[str]]:
    return {group: list(names) for group, names in catalog.groups().items()}


def _line(tool: Tool) -> dict[str, Any]:
    return {"tool": tool.name, "summary": tool.summary}


def _whole(tool: Tool) -> dict[str, Any]:
    marks = {
        "destructive": tool.destructive,
        "operator_only": tool.operator_only,
        "writes": tool.writes,
    }
    return {
        "tool": tool.name,
        "summary": tool.summary,
        "group": catalog.group_of(tool),
        "args": {one.name: _told(one) for one in tool.parameters},
        "answers": sorted(tool.output_schema().get("properties", {})),
        **{name: True for name, said in marks.items() if said},
    }


def _told(parameter: Parameter) -> str:
    many = "list of " if parameter.many else ""
    kind = "|".join(parameter.choices) or parameter.base
    needed = ", required" if parameter.required else ""
    return f"{many}{kind}{needed}: {parameter.told}"
