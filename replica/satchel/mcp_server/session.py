"""One MCP client's session: who it is, its replica, and its calls of tools by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satchel.errors import UnknownArgument, did_you_mean
from satchel.mcp_server.drainer import Drainer
from satchel.mcp_server.listing import CALL_BY_NAME
from satchel.memory.limits import NAME_CHARS_MAX
from satchel.replica import Replica, open_replica
from satchel.tools import catalog
from satchel.tools.parameter import Parameter
from satchel.tools.values import parse, wrong

if TYPE_CHECKING:
    from satchel.config import Settings

HELP = "help"
UNNAMED = "unnamed"
"""The agent that a client is which gives itself no name, or none that can be read."""


class Session:
    """Calls of one client. The replica is opened by the first call that needs it."""

    def __init__(self, settings: Settings, client: str | None) -> None:
        """`client` is the name the client gives itself; --agent and SATCHEL_AGENT stand above."""
        self._settings = settings.as_agent(_agent_name(client))
        self._replica: Replica | None = None
        self._drainer: Drainer | None = None

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool, as plain JSON. Raises typed errors."""
        if name == CALL_BY_NAME.name:
            name, arguments = _unwrapped(arguments)
            if name == HELP:
                return _help(arguments)
        tool, presets = catalog.find(name)
        checked = tool.arguments({**presets, **arguments})
        answer = tool.call(self._open(), checked)
        if self._drainer is not None and tool.writes:
            self._drainer.wake()
        return answer

    def close(self) -> None:
        """Close the replica, if it was opened."""
        if self._drainer is not None:
            self._drainer.close()
        if self._replica is not None:
            self._replica.close()

    def _open(self) -> Replica:
        if self._replica is None:
            self._replica = open_replica(self._settings)
            self._drainer = Drainer(self._replica)
            self._drainer.start()
        return self._replica


def _agent_name(client: str | None) -> str:
    """A client's own name as an agent's name: one line without odd characters, never empty."""
    printable = "".join(one for one in client or "" if one.isprintable()).strip()
    return printable[:NAME_CHARS_MAX].strip() or UNNAMED


def _unwrapped(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments inside a `satchel_call`."""
    known = {one.name: one for one in CALL_BY_NAME.parameters}
    for name in arguments:
        if name not in known:
            raise UnknownArgument(
                f"{CALL_BY_NAME.name} has no argument {name[:60]!r}",
                hint=did_you_mean(name, known) or "it takes: tool, args",
                field=name,
            )
    if "tool" not in arguments:
        raise wrong("tool", f"is missing: {CALL_BY_NAME.name} needs it", 'try tool="help"')
    parsed = {name: parse(known[name], value, from_text=False) for name, value in arguments.items()}
    return parsed["tool"], parsed.get("args") or {}


def _help(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Tools that fit `query`, each with its arguments."""
    for name in arguments:
        if name != "query":
            raise UnknownArgument(
                f"help has no argument {name[:60]!r}", hint="it takes: query", field=name
            )
    query = parse(Parameter(name="query", base="text"), arguments.get("query", ""), from_text=False)
    found = catalog.search(query)
    tools = [
        {
            "tool": tool.name,
            "summary": tool.summary,
            "args": {one.name: _told(one) for one in tool.parameters},
        }
        for tool in found
    ]
    return {"tools": tools if query else [{"tool": t.name, "summary": t.summary} for t in found]}


def _told(parameter: Parameter) -> str:
    many = "list of " if parameter.many else ""
    kind = "|".join(parameter.choices) or parameter.base
    needed = ", required" if parameter.required else ""
    return f"{many}{kind}{needed}: {parameter.told}"
