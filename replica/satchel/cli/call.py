"""One call of a tool from the shell: its arguments, the replica, the answer, the exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.cli.options import usage
from satchel.errors import InvalidInput
from satchel.memory.limits import TEXT_BYTES_MAX
from satchel.terminal import is_terminal
from satchel.tools.values import load_json, wrong

if TYPE_CHECKING:
    from satchel.cli.door import Door
    from satchel.tools.tool import Tool

JSON_FILE_BYTES_MAX = 8 * TEXT_BYTES_MAX


def run_tool(
    door: Door, tool: Tool, typed: dict[str, Any], json_file: str | None, command: str
) -> int:
    """Check the arguments, open the replica, call the tool, print the answer; its exit code.

    `typed` has a text, a list of texts or a flag by parameter; None = not said. `command` is what
    was typed to get here, for the error that says what is missing.
    """
    given, names = _given(door, tool, typed, json_file)
    arguments = tool.arguments(given, names, usage=usage(tool, command))
    from satchel.replica import open_replica  # only now: bad input opens nothing

    with open_replica(door.settings) as replica:
        answer = tool.call(replica, arguments)
    door.answer(answer, changed=tool.writes)
    return tool.exit_code(answer)


def _given(
    door: Door, tool: Tool, typed: dict[str, Any], json_file: str | None
) -> tuple[dict[str, Any], frozenset[str]]:
    """The arguments of both sources, and the names of those that were typed."""
    said = {name: value for name, value in typed.items() if value not in (None, [])}
    filed = _read_object(json_file) if json_file is not None else {}
    for one in tool.parameters:
        if one.long and said.get(one.name) == "-":
            if json_file == "-":
                raise wrong(one.name, "and --json-file cannot both be read from stdin")
            said[one.name] = _without_newline(_read(None, one.name, TEXT_BYTES_MAX))
    given = {**filed, **said}
    if tool.destructive and not given.get("confirm") and _ask(door, tool):
        given["confirm"] = True
    return given, frozenset(said)


def _ask(door: Door, tool: Tool) -> bool:
    """Prompts appear only at a terminal."""
    if door.json or not is_terminal(sys.stdin):
        return False
    import typer

    return typer.confirm(f"{tool.noun} {tool.command}: go on?", err=True)


def _read_object(path: str) -> dict[str, Any]:
    text = _read(None if path == "-" else path, "json-file", JSON_FILE_BYTES_MAX)
    found = load_json("json-file", text)
    if not isinstance(found, dict):
        raise wrong("json-file", "must hold one JSON object with the tool's arguments")
    return found


def _read(path: str | None, field: str, bytes_max: int) -> str:
    """A file's text, or stdin's. Raises InvalidInput when it is too long or not UTF-8."""
    try:
        if path is None:
            raw = sys.stdin.buffer.read(bytes_max + 1)
        else:
            with Path(path).open("rb") as file:
                raw = file.read(bytes_max + 1)
    except (OSError, ValueError) as error:
        source = "stdin" if path is None else repr(path)
        raise wrong(field, f"cannot be read: {source}: {error}", "give a readable file") from error
    if len(raw) > bytes_max:
        raise wrong(field, f"has more than {bytes_max} bytes", "split it")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{field} is not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start}",
            hint="save or send it as UTF-8",
            field=field,
        ) from error


def _without_newline(text: str) -> str:
    # A shell's `echo` ends with one that nobody meant.
    return text.removesuffix("\n").removesuffix("\r")
