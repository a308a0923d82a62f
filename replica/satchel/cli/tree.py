"""The tree of commands as typer has it: nouns, verbs, their options, their help."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from satchel.cli.command import GLOBAL_PARAMETERS, Loader, group, lazy, plainly_parsed
from satchel.cli.door import Globals
from satchel.cli.options import GLOBAL_NAMES, VERSION
from satchel.cli.tool_command import tool_command
from satchel.tools import catalog

HELP = "A memory for agents that lives on this machine and reconciles with a warehouse."


def root() -> Any:
    """The click command of `satchel`."""
    app = typer.Typer(cls=lazy(_loaders), rich_markup_mode=None, add_completion=False)
    app.callback(help=HELP, no_args_is_help=True)(_root_callback())
    return plainly_parsed(typer.main.get_command(app))


def _loaders() -> dict[str, Loader]:
    return {
        **{name: _short(name) for name in catalog.SHORT},
        "recall": _written("recall_command"),
        "sync": _written("sync_command"),
        "doctor": _written("doctor_command"),
        "demo": _written("demo_command"),
        **{noun: _noun(noun) for noun in catalog.MODULES},
        "setup": _written("setup_command"),
        "schedule": _written("schedule_command"),
        "warehouse": _written("warehouse_command"),
        "report": _written("report_command"),
        "crypto": _written("crypto_command"),
        "secret": _written("secret_command"),
        "key": _written("key_command"),
        "audit": _written("audit_command"),
        "import": _written("import_command"),
        "export": _written("export_command"),
        "backup": _written("backup_command"),
        "restore": _written("restore_command"),
        "mcp": _written("mcp_command"),
        "model": _written("model_command"),
        "config": _written("config_command"),
        "completion": _written("completion_command"),
    }


def _written(module: str) -> Loader:
    """A hand-written command: each module of that kind has `make() -> click command`."""
    return lambda: importlib.import_module(f"satchel.cli.{module}").make()


WRITTEN_VERBS: dict[str, dict[str, Loader]] = {
    "chatlog": {"capture": _written("capture_command")},
}
"""Verbs beside the tools of a noun: they read files and stdin, which no tool of MCP may."""


def _short(name: str) -> Loader:
    return lambda: tool_command(catalog.in_module(*catalog.SHORT[name]))


def _noun(noun: str) -> Loader:
    def verbs() -> dict[str, Loader]:
        found = catalog.of_noun(noun).values()
        tools = {tool.command: partial(tool_command, tool) for tool in found}
        return {**tools, **WRITTEN_VERBS.get(noun, {})}

    return lambda: group(noun, catalog.NOUN_HELP[noun], verbs)


def _root_callback() -> Callable[..., None]:
    def options(ctx: typer.Context, version: bool, **given: Any) -> None:
        ctx.obj = Globals(**{name: given[name] for name in GLOBAL_NAMES})

    option = typer.Option("--version", is_eager=True, callback=_print_version, help="The version")
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [
        inspect.Parameter("ctx", keyword, annotation=typer.Context),
        inspect.Parameter("version", keyword, annotation=Annotated[bool, option], default=False),
    ]
    options.__signature__ = inspect.Signature([*own, *GLOBAL_PARAMETERS])  # type: ignore[attr-defined]
    options.__annotations__ = {}
    return options


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(VERSION)
        raise typer.Exit(0)
