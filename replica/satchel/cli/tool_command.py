"""A tool of the catalog as a command: `satchel NOUN VERB [ARGS] [--options]`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import make, with_globals
from satchel.cli.door import Door
from satchel.errors import InvalidInput
from satchel.memory.limits import TEXT_BYTES_MAX
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool
from satchel.tools.values import load_json, wrong

JSON_FILE_BYTES_MAX = 8 * TEXT_BYTES_MAX
_METAVARS = {"text": "TEXT", "integer": "N", "number": "X", "time": "TIME", "object": "JSON"}
_JSON_FILE = inspect.Parameter(
    "json_file",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option("--json-file", metavar="PATH|-", help="The arguments as one JSON object"),
    ],
)


def tool_command(tool: Tool, name: str | None = None) -> Any:
    """The click command of `tool`."""
    own = [_parameter(tool, one) for one in _in_order(tool)]

    def body(ctx: typer.Context, door: Door, json_file: str | None, **typed: Any) -> int:
        return run_tool(door, tool, typed, json_file, ctx.command_path)

    return make(name or tool.verb, tool.summary, with_globals([*own, _JSON_FILE], body))


def run_tool(
    door: Door, tool: Tool, typed: dict[str, Any], json_file: str | None, command: str
) -> int:
    """Check the arguments, open the replica, call the tool, print the answer; its exit code."""
    given, names = _given(door, tool, typed, json_file)
    arguments = tool.arguments(given, names, usage=_usage(tool, command))
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


def _usage(tool: Tool, command: str) -> str:
    """What has to be typed: `satchel write TEXT`."""
    return " ".join([command, *(_metavar(one) for one in _in_order(tool) if one.required)])


def _ask(door: Door, tool: Tool) -> bool:
    """Prompts appear only at a terminal."""
    if door.json or not sys.stdin.isatty():
        return False
    return typer.confirm(f"{tool.noun} {tool.verb}: go on?", err=True)


# ---- input --------------------------------------------------------------------------------------


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


# ---- parameters ---------------------------------------------------------------------------------


def _in_order(tool: Tool) -> list[Parameter]:
    named = {one.name: one for one in tool.parameters}
    rest = [one for one in tool.parameters if one.name not in tool.positional]
    return [*(named[name] for name in tool.positional), *rest]


def _parameter(tool: Tool, one: Parameter) -> inspect.Parameter:
    # Everything is optional and text here: the tool's own checks speak for both doors.
    kind: Any = list[str] if one.many else bool if one.base == "boolean" else str
    declared: Any
    if one.name in tool.positional:
        declared = typer.Argument(metavar=_metavar(one), help=one.help, show_default=False)
    else:
        metavar = "|".join(one.choices) or _METAVARS.get(one.base, "")
        declared = typer.Option(
            *_option_names(tool, one),
            help=one.help,
            metavar=None if one.base == "boolean" else metavar,
            show_default=False,
        )
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, declared],
    )


def _metavar(one: Parameter) -> str:
    return one.name.removesuffix("s").upper() + ("..." if one.many else "")


def _option_names(tool: Tool, one: Parameter) -> tuple[str, ...]:
    if one.name == "confirm":
        return ("--yes", "-y")
    long = "--" + one.name.replace("_", "-")
    if one.base == "boolean" and one.nullable:
        return (f"{long}/--no-{long[2:]}",)
    singular = ("--" + name for name, plural in tool.synonyms.items() if plural == one.name)
    return (*tool.short.get(one.name, ()), long, *singular)
