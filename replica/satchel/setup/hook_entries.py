"""Our commands among a host's hooks, in a text of JSON: the form that three hosts have in common.

`{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …, "timeout": …}]}]}}`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from satchel.plain_file import read_bytes
from satchel.setup import jsonc
from satchel.setup.errors import Malformed
from satchel.setup.jsonc import Node
from satchel.setup.program import is_hook

HOOKS = "hooks"


def put(text: str, host: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with one command of ours for each event; older ones of ours are replaced.

    `wanted` has each event's handler. Raises Malformed.
    """
    for event in _events(text):
        text = _take_event(text, host, event, keep=wanted.get(event))
    for event, handler in wanted.items():
        if not list(_ours(text, host, event)):
            text = jsonc.append(text, (HOOKS, event), {HOOKS: [dict(handler)]})
    return text


def take(text: str, host: str) -> str:
    """The text without any command of ours, and without what was there for them alone."""
    for event in _events(text):
        text = _take_event(text, host, event, keep=None)
    if text.strip() and _value(text, (HOOKS,)) == {}:
        text = jsonc.drop(text, (HOOKS,))
    return text


def says(path: Path, *keys: str) -> Any:
    """What a host's file says under these keys; None where it says nothing, or cannot be read."""
    try:
        return _value(read_bytes(path).decode("utf-8-sig"), keys)
    except (OSError, UnicodeDecodeError, Malformed):
        return None


def _take_event(text: str, host: str, event: str, *, keep: Mapping[str, Any] | None) -> str:
    """Without our commands of this event, but for the first that is just as it should be."""
    found = list(_ours(text, host, event))
    kept = next((one for one in found if _value(text, one) == keep), None)
    for path in reversed([one for one in found if one != kept]):
        text = jsonc.drop(text, path)
        *group, _, _ = path
        if _value(text, (*group, HOOKS)) == []:
            text = jsonc.drop(text, tuple(group))
    if found and _value(text, (HOOKS, event)) == []:
        text = jsonc.drop(text, (HOOKS, event))
    return text


def _ours(text: str, host: str, event: str) -> Iterator[tuple[str | int, ...]]:
    """Paths of our handlers: hooks, event, group, hooks, handler."""
    groups = jsonc.find(jsonc.read(text), (HOOKS, event)) if text.strip() else None
    for group in groups.children if groups else ():
        handlers = group.node.member(HOOKS) if isinstance(group.node.value, dict) else None
        for handler in handlers.node.children if handlers else ():
            if is_hook(_command(handler.node), host):
                yield HOOKS, event, group.key, HOOKS, handler.key


def _command(handler: Node) -> Any:
    return handler.value.get("command") if isinstance(handler.value, dict) else None


def _events(text: str) -> list[str]:
    hooks = _value(text, (HOOKS,)) if text.strip() else None
    return list(hooks) if isinstance(hooks, dict) else []


def _value(text: str, path: tuple[str | int, ...]) -> Any:
    found = jsonc.find(jsonc.read(text), path)
    return found.value if found else None
