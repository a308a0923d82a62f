"""The catalog: every tool, listed explicitly by the module that holds it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from satchel.errors import UnknownArgument, did_you_mean
from satchel.tools.tool import Tool

MODULES: Mapping[str, tuple[str, ...]] = {
    "memory": ("memory", "search", "graph", "promotion"),
    "chatlog": ("chatlog", "promotion"),
    "task": ("task",),
    "agent": ("agent",),
    "message": ("message",),
    "notification": ("message",),
    "session": ("session",),
    "space": ("space",),
}
"""Noun -> the modules of this package that hold its tools; only the noun asked is imported."""

PLATES: Mapping[str, tuple[str, ...]] = {
    "sync": ("sync",),
    "admin": ("admin",),
    "audit": ("audit",),
}
"""Nouns whose commands are written by hand: their tools are for MCP."""

GROUP_OF: Mapping[str, str] = {"search": "memory", "promotion": "memory", "space": "session"}
"""Module -> the group of its tools, where that has another name than the module."""

NOUN_HELP: Mapping[str, str] = {
    "memory": "Facts, decisions and notes: write, search, correct, supersede, link",
    "chatlog": "Conversations, turn by turn",
    "task": "Pieces of work that agents share",
    "agent": "The agents that are known here",
    "message": "Messages and hand-offs between agents",
    "notification": "What an agent should know: assigned tasks, finished work",
    "session": "Stretches of work that agents share",
    "space": "Shared pools, and who may read and write in them",
    "sync": "Reconciling this replica with its warehouse",
    "admin": "What this machine's satchel is and was told",
    "audit": "Who read and wrote what",
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


@cache
def of_noun(noun: str) -> Mapping[str, Tool]:
    """Verb -> tool. Raises ValueError when two tools have one name."""
    found: dict[str, Tool] = {}
    for module in _modules(noun):
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
    return {tool.name: tool for noun in (*MODULES, *PLATES) for tool in of_noun(noun).values()}


def group_of(tool: Tool) -> str:
    """The group that a tool is in: `[mcp] tools` names groups."""
    module = tool.function.__module__.rpartition(".")[2]
    return GROUP_OF.get(module, module)


@cache
def groups() -> Mapping[str, tuple[str, ...]]:
    """Group -> the names of its tools."""
    found: dict[str, list[str]] = {}
    for name, tool in every().items():
        found.setdefault(group_of(tool), []).append(name)
    return {group: tuple(names) for group, names in found.items()}


def _modules(noun: str) -> tuple[str, ...]:
    return MODULES[noun] if noun in MODULES else PLATES[noun]


def find(name: str) -> tuple[Tool, Mapping[str, Any]]:
    """The tool of that name or alias, and the arguments that the alias stands for.

    Raises UnknownArgument with the nearest name.
    """
    from satchel.tools.aliases import ALIASES

    alias = ALIASES.get(name)
    tool = every().get(alias.tool if alias else name)
    if tool is None:
        hint = _nearest(name, [*every(), *ALIASES]) or 'tool "help" finds one by words'
        raise UnknownArgument(f"no tool {name[:60]!r}", hint=hint, field="tool")
    return tool, alias.presets if alias else {}


def _nearest(name: str, known: list[str]) -> str:
    """A hint: the name with the same words in another order, else the one that is spelt alike."""
    words = sorted(name.lower().split("_"))
    turned = (one for one in known if sorted(one.split("_")) == words)
    return did_you_mean(next(turned, name), known)


def search(query: str) -> list[Tool]:
    """Tools whose name or summary has words of `query`, the most first; all for an empty one."""
    words = [word for word in query.lower().replace("_", " ").split() if len(word) > 1]
    if not words:
        return list(every().values())
    scored = [(_fit(tool, words), tool) for tool in every().values()]
    return [tool for score, tool in sorted(scored, key=lambda one: -one[0]) if score][:10]


def _fit(tool: Tool, words: list[str]) -> int:
    named, said = tool.name.split("_"), tool.summary.lower()
    return sum(
        (word in named) * 3 + (word in tool.name) * 2 + (word in said) + (word == group_of(tool))
        for word in words
    )
