"""Reading JSON with comments: each value, and where in the text it stands."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from satchel.setup.errors import Malformed

DEPTH_MAX: Final = 100
_BLANKS = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")


class Node(NamedTuple):
    """A value and where it stands; `children` are an object's members or an array's items."""

    value: Any
    start: int
    end: int
    children: tuple[Member, ...] = ()

    def member(self, key: str | int) -> Member | None:
        """The child under that key or index."""
        return next((one for one in self.children if one.key == key), None)


class Member(NamedTuple):
    """A child: its key (or index), where it begins, its value."""

    key: str | int
    start: int
    node: Node


@lru_cache(maxsize=8)
def read(text: str) -> Node:
    """The whole document. Raises Malformed, naming the line."""
    node = _value(text, _skip(text, 0), 0)
    rest = _skip(text, node.end)
    if rest != len(text):
        raise fault(text, rest, "something stands behind its end")
    return node


def comma_after(text: str, at: int) -> int | None:
    """Where the comma behind a value stands, or None."""
    at = _skip(text, at)
    return at if text[at : at + 1] == "," else None


def fault(text: str, at: int, why: str) -> Malformed:
    """The error that names a place of the text, and nothing of what it says."""
    line = text.count("\n", 0, at) + 1
    return Malformed(f"line {line}: {why}", hint="mend it by hand, then run `satchel setup` again")


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise fault(text, at, f"it is nested deeper than {DEPTH_MAX}")
    if text[at : at + 1] == "{":
        return _many(text, at, depth, "}")
    if text[at : at + 1] == "[":
        return _many(text, at, depth, "]")
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        raise fault(text, at, "no JSON value stands where one should")
    return Node(json.loads(found[0]), at, found.end())


def _many(text: str, start: int, depth: int, closing: str) -> Node:
    """An object or an array."""
    children: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        key, begins, at = _key(text, at, len(children), closing)
        node = _value(text, at, depth + 1)
        children.append(Member(key, begins, node))
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise fault(text, at, f"a comma or {closing} is missing")
    value: Any = [one.node.value for one in children]
    if closing == "}":
        value = {one.key: one.node.value for one in children}
        if len(value) != len(children):
            raise fault(text, start, "a key stands twice in one object")
    return Node(value, start, at + 1, tuple(children))


def _key(text: str, at: int, index: int, closing: str) -> tuple[str | int, int, int]:
    """(key, where the child begins, where its value does)."""
    if closing == "]":
        return index, at, at
    found = _STRING.match(text, at)
    colon = _skip(text, found.end()) if found else at
    if not found or text[colon : colon + 1] != ":":
        raise fault(text, at, "a key with its colon is missing")
    return json.loads(found[0]), at, _skip(text, colon + 1)
