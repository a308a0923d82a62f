"""The tools that an MCP client is shown at the start, as the protocol writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from satchel.errors import ConfigInvalid, did_you_mean
from satchel.tools import catalog
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class _CallByName:
    """The sixth tool: any other tool by its name."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]


CALL_BY_NAME = _CallByName(
    name="satchel_call",
    summary=(
        "Call any other tool by name: tasks, agents, messages, edges, history, delete, ..."
        ' tool="help" with args={"query": "words"} finds tools and their arguments.'
    ),
    parameters=(
        Parameter(name="tool", base="text", required=True, help="noun_verb, or help"),
        Parameter(name="args", base="object", help="The tool's arguments"),
    ),
)


def listed(groups: Sequence[str]) -> list[dict[str, Any]]:
    """`core`, `all`, or nouns: those tools, and always `satchel_call`. Raises ConfigInvalid."""
    return [*(_shown(tool) for tool in _chosen(groups)), _shown_call()]


def _chosen(groups: Sequence[str]) -> list[Tool]:
    tools = catalog.every()
    if "all" in groups:
        return list(tools.values())
    known = ("core", "all", *catalog.MODULES)
    for group in groups:
        if group not in known:
            raise ConfigInvalid(
                f"mcp.tools: no group {group!r}",
                hint=did_you_mean(group, known) or f"one of: {', '.join(known)}",
                field="mcp.tools",
            )
    core = [name for name in catalog.CORE if "core" in groups]
    named = [tool.name for tool in tools.values() if tool.noun in groups]
    return [tools[name] for name in dict.fromkeys([*core, *named])]


def _shown(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.summary,
        "inputSchema": tool.input_schema(),
        "outputSchema": tool.output_schema(),
        "annotations": {"readOnlyHint": not tool.writes, "destructiveHint": tool.destructive},
    }


def _shown_call() -> dict[str, Any]:
    properties = {one.name: one.schema() for one in CALL_BY_NAME.parameters}
    schema = {"type": "object", "properties": properties, "required": ["tool"]}
    return {
        "name": CALL_BY_NAME.name,
        "description": CALL_BY_NAME.summary,
        "inputSchema": schema | {"additionalProperties": False},
        "outputSchema": {"type": "object"},
    }
