"""The catalog: every tool, listed explicitly by the module that holds it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

from satchel.errors import UnknownArgument, did_you_mean
from satchel.tools.tool import Tool

MODULES: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory", "search", "graph"),
    "chatlog": ("chatlog",),
    "task": ("task",),
    "agent": ("agent",),
    "message": ("message",),
    "notification": ("message",),
    "session": ("session",),
}
"""Noun -> the modules of this package that hold its tools; only the noun asked is imported."""

NOUN_HELP: Mapping[str, str] = {
    "memory": "Facts, decisions and notes: write, search, correct, supersede, link",
    "chatlog": "Conversations, turn by turn",
    "task": "Pieces of work that agents share",
    "agent": "The agents that are known here",
    "message": "Messages and hand-offs between agents",
    "notification": "What an agent should know: assigned tasks, finished work",
    "session": "Stretches of work that agents share",
}

SHORT: Mapping[str, tuple[str, str]] = {
    "write": ("memory", "memory_write"),
    "search": ("search", "memory_search"),
}
"""The commands of every day without their noun: module and tool."""

CORE = (
    "memory_write",
    "memory_search",
    "memory_get",
    "memory_supersede",
    "chatlog_search",
)
"""What MCP lists at the start, beside satchel_call."""

ALIASES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "memory_handoff": ("message_send", {"kind": "handoff"}),
    "memory_inbox": ("message_inbox", {}),
    "memory_inbox_ack": ("message_ack", {}),
    "notify": ("message_send", {"kind": "notification"}),
    "notifications_poll": ("notification_list", {}),
    "notifications_ack": ("notification_ack", {}),
    "task_set_result": ("task_complete", {}),
}
"""Names of the m3 seed -> ours, with the arguments they stand for; `satchel_call` accepts them."""


@cache
def of_noun(noun: str) -> Mapping[str, Tool]:
    """Verb -> tool. Raises ValueError when two tools have one name."""
    found: dict[str, Tool] = {}
    for module in MODULES[noun]:
        for value in vars(importlib.import_module(f"satchel.tools.{module}")).values():
            if not isinstance(value, Tool) or value.noun != noun:
                continue
            if value.verb in found:
                raise ValueError(f"two tools are named {value.name}")
            found[value.verb] = value
    return found


def of_verb(noun: str, verb: str) -> Tool | None:
    """One tool, or None; the modules of the noun are read up to the one that has it."""
    name = f"{noun}_{verb}"
    for module in MODULES[noun]:
        found = getattr(importlib.import_module(f"satchel.tools.{module}"), name, None)
        if isinstance(found, Tool):
            return found
    return None


def in_module(module: str, name: str) -> Tool:
    """One tool, without reading the other modules of its noun."""
    tool = getattr(importlib.import_module(f"satchel.tools.{module}"), name)
    assert isinstance(tool, Tool)
    return tool


@cache
def every() -> Mapping[str, Tool]:
    """Name -> tool, all of them."""
    return {tool.name: tool for noun in MODULES for tool in of_noun(noun).values()}


def find(name: str) -> tuple[Tool, Mapping[str, str]]:
    """The tool of that name or alias, and the arguments that the alias stands for.

    Raises UnknownArgument with the nearest name.
    """
    ours, presets = ALIASES.get(name, (name, {}))
    tool = every().get(ours)
    if tool is None:
        hint = did_you_mean(name, [*every(), *ALIASES]) or 'tool "help" finds one by words'
        raise UnknownArgument(f"no tool {name[:60]!r}", hint=hint, field="tool")
    return tool, presets


def search(query: str) -> list[Tool]:
    """Tools whose name or summary has words of `query`, the most first; all for an empty one."""
    words = [word for word in query.lower().replace("_", " ").split() if len(word) > 1]
    if not words:
        return list(every().values())
    scored = [
        (sum((word in tool.name) * 2 + (word in tool.summary.lower()) for word in words), tool)
        for tool in every().values()
    ]
    return [tool for score, tool in sorted(scored, key=lambda one: -one[0]) if score][:10]
