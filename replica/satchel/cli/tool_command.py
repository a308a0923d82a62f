"""A tool of the catalog as a command: `satchel NOUN VERB [ARGS] [--options]`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from satchel.cli.call import run_tool
from satchel.cli.command import make, with_globals
from satchel.cli.door import Door
from satchel.cli.options import JSON_FILE, flag, in_order, metavar, names_of
from satchel.tools.parameter import Parameter
from satchel.tools.tool import Tool

_METAVARS = {"text": "TEXT", "integer": "N", "number": "X", "time": "TIME", "object": "JSON"}
_JSON_FILE = inspect.Parameter(
    JSON_FILE,
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(flag(JSON_FILE), metavar="PATH|-", help="The arguments as one JSON object"),
    ],
)


def tool_command(tool: Tool, name: str | None = None) -> Any:
    """The click command of `tool`."""
    own = [_parameter(tool, one) for one in in_order(tool)]

    def body(ctx: typer.Context, door: Door, json_file: str | None, **typed: Any) -> int:
        return run_tool(door, tool, typed, json_file, ctx.command_path)

    return make(name or tool.command, tool.summary, with_globals([*own, _JSON_FILE], body))


def _parameter(tool: Tool, one: Parameter) -> inspect.Parameter:
    # Everything is optional and text here: the tool's own checks speak for both doors.
    kind: Any = list[str] if one.many else bool if one.base == "boolean" else str
    declared: Any
    if one.name in tool.positional:
        declared = typer.Argument(metavar=metavar(one), help=one.told, show_default=False)
    else:
        shown = "|".join(one.choices) or _METAVARS.get(one.base, "")
        declared = typer.Option(
            *names_of(tool, one),
            help=one.told,
            metavar=None if one.base == "boolean" else shown,
            show_default=False,
        )
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, declared],
    )
