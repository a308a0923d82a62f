"""The tools that an MCP client is shown at the start, as the protocol writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from satchel.errors import ConfigInvalid, did_you_mean
from satchel.mcp_server.by_name import CALL
from satchel.tools import catalog
from satchel.tools.schemas import shallow
from satchel.tools.tool import Tool


def listed(groups: Sequence[str]) -> list[dict[str, Any]]:
    """`core`, `all`, groups, nouns: those tools and always `satchel_call`. Raises ConfigInvalid."""
    return [*(_shown(tool) for tool in _chosen(groups)), _shown_call()]


def _chosen(groups: Sequence[str]) -> list[Tool]:
    tools = catalog.every()
    if "all" in groups:
        return list(tools.values())
    named = catalog.groups()
    known = ("core", "all", *named, *(noun for noun in catalog.MODULES if noun not in named))
    for group in groups:
        if group not in known:
            raise ConfigInvalid(
                f"mcp.tools: no group {group!r}",
                hint=did_you_mean(group, known) or f"one of: {', '.join(known)}",
                field="mcp.tools",
            )
    core = catalog.CORE if "core" in groups else ()
    asked = [name for group in groups for name in named.get(group, ())]
    nouns = {group for group in groups if group not in named}
    asked += [tool.name for tool in tools.values() if tool.noun in nouns]
    return [tools[name] for name in dict.fromkeys([*core, *asked])]


def _shown(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.summary,
        "inputSchema": tool.input_schema(),
        "outputSchema": shallow(tool.output_schema()),
        "annotations": {"readOnlyHint": not tool.writes, "destructiveHint": tool.destructive},
    }


def _shown_call() -> dict[str, Any]:
    properties = {one.name: one.schema() for one in CALL.parameters}
    schema = {"type": "object", "properties": properties, "required": ["tool"]}
    return {
        "name": CALL.name,
        "description": CALL.summary,
        "inputSchema": schema | {"additionalProperties": False},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    }
