"""An error becomes one line on stderr and an exit code: the one place where the CLI translates."""

from __future__ import annotations

import json
import sys
from typing import Any

from satchel.errors import did_you_mean, explain, is_typed

_QUOTES = "put a text of several words in quotes"
_OPTIONS_ONLY = "it takes options only"


def report(error: Exception, *, as_json: bool, verbose: bool) -> int:
    """Print `error` and return its exit code."""
    if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
        sys.stderr.write(f"{error}\n")
        return 2
    usage = _is_usage(error) and not is_typed(error)
    if verbose and not usage and not is_typed(error):
        import traceback

        traceback.print_exception(error)
    shown, exit_code = explained(error)
    if as_json:
        sys.stderr.write(json.dumps({"error": shown}, ensure_ascii=False) + "\n")
    else:
        _print_line(shown)
    return exit_code


def explained(error: Exception) -> tuple[dict[str, str], int]:
    """What there is to tell of an error, whosever it is, and its exit code."""
    if _is_usage(error) and not is_typed(error):
        return _usage(error), 2
    return explain(error)


def is_abort(error: BaseException) -> bool:
    """Whether a prompt was answered with Ctrl-C or Ctrl-D."""
    return type(error).__name__ == "Abort"


def _is_usage(error: BaseException) -> bool:
    # typer brings its own click, so its exceptions are known by what they offer.
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _usage(error: Any) -> dict[str, str]:
    option = getattr(error, "option_name", None)
    parameter = getattr(error, "param", None)
    known = [name for one in _parameters(error) for name in (*one.opts, *one.secondary_opts)]
    near = did_you_mean(option, known) if option else ""
    context = getattr(error, "ctx", None)
    help_hint = f"see `{context.command_path} --help`" if context else "see `satchel --help`"
    message = _first_sentence(error.format_message())
    if message.startswith("Got unexpected extra argument"):
        words = any(one.param_type_name == "argument" for one in _parameters(error))
        help_hint = f"{_QUOTES if words else _OPTIONS_ONLY}; {help_hint}"
    return {
        "code": "unknown_argument" if option and parameter is None else "usage",
        "message": "a command is missing"
        if type(error).__name__ == "NoArgsIsHelpError"
        else message,
        "hint": near or help_hint,
        "field": str(option or getattr(parameter, "name", None) or ""),
    }


def _parameters(error: Any) -> list[Any]:
    context = getattr(error, "ctx", None)
    return list(context.command.params) if context else []


def _first_sentence(text: str) -> str:
    return text.split(" Did you mean")[0].split(" (Possible")[0]


def _print_line(shown: dict[str, str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stderr, highlight=False)
    console.print(Text.assemble(("error: ", "bold red"), shown["message"]), soft_wrap=True)
    if shown["hint"]:
        console.print(Text.assemble(("hint: ", "bold"), shown["hint"]), soft_wrap=True)
