"""Our entry among a host's MCP servers, in a text of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.setup import jsonc
from satchel.setup.errors import NotOurs
from satchel.setup.program import NAME, is_server


def put(text: str, under: Sequence[str], entry: Mapping[str, Any]) -> str:
    """The text with our entry among the servers `under` these keys.

    What a user has added to an entry of ours stays. Raises Malformed, and NotOurs for an entry of
    that name that starts something else.
    """
    path = [*under, NAME]
    held = _held(text, path)
    if held is None:
        return jsonc.put(text, path, dict(entry))
    if not is_server(held):
        raise NotOurs(
            f"a server named {NAME!r} is there already, and it starts something else",
            hint="give that one another name, then run `satchel setup` again",
        )
    return jsonc.put(text, path, {**held, **entry})


def take(text: str, under: Sequence[str]) -> str:
    """The text without our entry, and without the objects that were there for it alone."""
    path = [*under, NAME]
    if not is_server(_held(text, path)):
        return text
    text = jsonc.drop(text, path)
    for depth in range(len(under), 0, -1):
        if _held(text, under[:depth]) == {}:
            text = jsonc.drop(text, under[:depth])
    return text


def _held(text: str, path: Sequence[str]) -> Any:
    found = jsonc.find(jsonc.read(text), path) if text.strip() else None
    return found.value if found else None
