"""`satchel`: the global options, the nouns, and what an exit looks like. Start reading at `run`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, NoReturn, TextIO

import typer

from satchel import __version__
from satchel.cli.command import GLOBAL_NAMES, GLOBAL_PARAMETERS, Loader, group, lazy, plainly_parsed
from satchel.cli.door import Globals, ReaderGone
from satchel.cli.failures import report
from satchel.errors import OutputFailed
from satchel.tools import catalog
from satchel.tools.tool import Tool

HELP = "A memory for agents that lives on this machine and reconciles with a warehouse."
INTERRUPTED = 130


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point of the command `satchel`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _stand_in_for_closed()
    _speak_utf8()
    try:
        exit_code = _root()(args=given, prog_name="satchel", standalone_mode=False)
        _flush()
    except (KeyboardInterrupt, typer.Abort):
        exit_code = INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        exit_code = _quiet_pipe()
    except Exception as error:  # noqa: BLE001 (the last door: each error is shown with its code)
        as_json = "--json" in given or not sys.stdout.isatty()
        error = _drop_unwritten(error)
        exit_code = report(error, as_json=as_json, verbose="--verbose" in given)
    sys.exit(exit_code if isinstance(exit_code, int) else 0)


# ---- the tree of commands -----------------------------------------------------------------------


def _root() -> Any:
    app = typer.Typer(cls=lazy(_loaders), rich_markup_mode=None, add_completion=False)
    app.callback(help=HELP, no_args_is_help=True)(_root_callback())
    return plainly_parsed(typer.main.get_command(app))


def _loaders() -> dict[str, Loader]:
    return {
        "write": lambda: _tool(catalog.in_module("memory", "memory_write")),
        "search": lambda: _tool(catalog.in_module("search", "memory_search")),
        "sync": _written("sync_command"),
        "doctor": _written("doctor_command"),
        "demo": _written("demo_command"),
        **{noun: _noun(noun) for noun in catalog.MODULES},
        "warehouse": _written("warehouse_command"),
        "mcp": _written("mcp_command"),
        "config": _written("config_command"),
        "completion": _written("completion_command"),
    }


def _written(module: str) -> Loader:
    """A hand-written command: each module of that kind has `make() -> click command`."""
    return lambda: importlib.import_module(f"satchel.cli.{module}").make()


def _tool(tool: Tool) -> Any:
    from satchel.cli.tool_command import tool_command

    return tool_command(tool)


def _noun(noun: str) -> Loader:
    def verbs() -> dict[str, Loader]:
        return {verb: partial(_tool, tool) for verb, tool in catalog.of_noun(noun).items()}

    return lambda: group(noun, catalog.NOUN_HELP[noun], verbs)


def _root_callback() -> Callable[..., None]:
    import inspect

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
        sys.stdout.write(f"satchel {__version__}\n")
        raise typer.Exit(0)


# ---- streams ------------------------------------------------------------------------------------


def _stand_in_for_closed() -> None:
    """A stream that the shell closed (`>&-`) fails when it is used, with an error that says so.

    Python has None in its place, and its number would go to the next file that is opened.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY), "r", encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _speak_utf8() -> None:
    """UTF-8 on every system: a Windows code page would break names and JSON."""
    for stream in (sys.stdout, sys.stderr):
        _reconfigure(stream)


def _reconfigure(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"stdout could not be written to: {error.strerror}") from error


def _drop_unwritten(error: Exception) -> Exception:
    """What stdout does not take must not fail a second time, when Python ends."""
    try:
        _flush()
    except (OutputFailed, BrokenPipeError) as failed:
        _quiet_pipe()
        return failed if isinstance(error, OSError) else error
    return error


def _quiet_pipe() -> int:
    """The reader went away: nothing to say, and nothing may fail while Python flushes."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    return 0
