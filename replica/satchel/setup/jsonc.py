"""JSON with comments, edited in its text: what is not ours stays as it is, to the byte.

`read` tells where each value stands; `put`, `append` and `drop` change one place of the text each.
Comments (`//`, `/* */`) and commas behind the last item are read, as Visual Studio Code does; no
library for Python edits such a text in place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from satchel.setup.jsonc_reader import Member, Node, comma_after, fault, read

Path = Sequence[str | int]


def value_of(text: str) -> Any:
    """What the whole text says; a blank one is an empty object. Raises Malformed."""
    return read(text).value if text.strip() else {}


def find(node: Node, path: Path) -> Node | None:
    """What stands under a path, or None."""
    for key in path:
        member = node.member(key)
        if member is None:
            return None
        node = member.node
    return node


def put(text: str, path: Path, value: Any) -> str:
    """The text with `value` under `path`; objects on the way are made where they are missing.

    Raises Malformed where something on the way is no object, or the text cannot be read.
    """
    if not text.strip():
        text = "{}\n"
    node = read(text)
    for depth, key in enumerate(path):
        _must_be(text, node, dict, path[:depth])
        member = node.member(key)
        if member is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, depth, json.dumps(key, ensure_ascii=False) + ": ", value)
        node = member.node
    if node.value == value:
        return text
    return text[: node.start] + _shown(text, value, len(path)) + text[node.end :]


def append(text: str, path: Path, item: Any) -> str:
    """The text with one more item in the array under `path`, which is made if it is missing.

    Raises Malformed as `put` does, and where no array stands there.
    """
    found = find(read(text), path) if text.strip() else None
    if found is None:
        return put(text, path, [item])
    _must_be(text, found, list, path)
    return _insert(text, found, len(path), "", item)


def drop(text: str, path: Path) -> str:
    """The text without what stands under `path`, with its comma and, if it had one, its line."""
    *way, key = path
    parent = find(read(text), way)
    member = parent.member(key) if parent else None
    if parent is None or member is None:
        return text
    place = parent.children.index(member)
    comma = comma_after(text, member.node.end)
    end = member.node.end if comma is None else comma + 1
    start, end = _with_blanks(text, member.start, end, first=place == 0)
    text = text[:start] + text[end:]
    before = parent.children[place - 1].node.end if place else None
    if comma is None and before is not None:
        lonely = comma_after(text, before)
        if lonely is not None:
            text = text[:lonely] + text[lonely + 1 :]
    return _collapsed(text, way)


# ---- making text --------------------------------------------------------------------------------


def _insert(text: str, parent: Node, depth: int, prefix: str, value: Any) -> str:
    """One more child at the end of an object or array."""
    unit, newline = _unit(text), _newline(text)
    shown = prefix + _shown(text, value, depth + 1)
    broken = newline + unit * (depth + 1) if newline else ""
    if not parent.children:
        inside = text[parent.start + 1 : parent.end - 1].rstrip()  # a comment, at most
        closing = newline + unit * depth if newline else ""
        body = f"{inside}{broken}{shown}{closing}"
        return text[: parent.start + 1] + body + text[parent.end - 1 :]
    last = parent.children[-1]
    comma = comma_after(text, last.node.end)
    behind = len(text[: parent.end - 1].rstrip())  # its comments stay with what they stand behind
    in_lines = "\n" in text[parent.start : last.start] or "//" in text[last.node.end : behind]
    between = text[last.node.end : behind]
    gap = broken if in_lines else " "
    if comma is not None:
        return f"{text[:behind]}{gap}{shown},{text[behind:]}"
    return f"{text[: last.node.end]},{between}{gap}{shown}{text[behind:]}"


def _shown(text: str, value: Any, depth: int) -> str:
    """The value as this text would have it: indented so, or all on one line."""
    unit, newline = _unit(text), _newline(text)
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + unit * depth).join(lines)


def _unit(text: str) -> str:
    """What the text indents by: the white space before the first line that has some."""
    for line in text.splitlines():
        body = line.lstrip(" \t")
        if body and body != line and not body.startswith(("/", "*")):
            return line[: len(line) - len(body)]
    return "  "


def _newline(text: str) -> str:
    """How its lines end; "" for a text of one line, unless that is an empty object."""
    if "\n" not in text.rstrip("\r\n") and text.strip() not in ("{}", "[]"):
        return ""
    return "\r\n" if "\r\n" in text else "\n"


def _with_blanks(text: str, start: int, end: int, *, first: bool) -> tuple[int, int]:
    """The span with the whole lines that it fills, or with the blanks beside it."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    if not text[line_start:start].strip() and not text[end:line_end].strip() and line_start:
        return line_start, min(line_end + 1, len(text))
    while first and text[end : end + 1] in (" ", "\t"):
        end += 1
    while not first and text[start - 1] in " \t":
        start -= 1
    return start, end


def _collapsed(text: str, path: Path) -> str:
    """An object or array without anything in it, not even a comment, on one line."""
    node = find(read(text), path)
    if node is None or node.children or text[node.start + 1 : node.end - 1].strip():
        return text
    return text[: node.start + 1] + text[node.end - 1 :]


def _must_be(text: str, node: Node, kind: type, path: Path) -> None:
    if not isinstance(node.value, kind):
        name = ".".join(map(str, path)) or "the whole of it"
        wanted = "an object" if kind is dict else "an array"
        raise fault(text, node.start, f"{name} is not {wanted}")


__all__ = ["Member", "Node", "append", "drop", "find", "put", "read", "value_of"]
