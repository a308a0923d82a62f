"""Functions become typer commands that also take the global options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from satchel.cli.door import Door, Globals
from satchel.cli.options import GLOBAL_NAMES, GLOBAL_OPTIONS, flag
from satchel.errors import UnknownArgument, did_you_mean

Function = Callable[..., Any]
Loader = Callable[[], Any]
"""Makes a click command when it is asked for, so that no command pays for another."""


def _global(name: str, metavar: str | None, help: str) -> inspect.Parameter:  # noqa: A002
    """A global option; without a metavar it is a flag."""
    option = typer.Option(flag(name), help=help, metavar=metavar, show_default=False)
    kind: Any = str if metavar else bool
    return _parameter(name, Annotated[kind | None, option], None)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


GLOBAL_PARAMETERS = tuple(_global(*one) for one in GLOBAL_OPTIONS)


class LazyGroup(TyperGroup):
    """A group of commands that are made when they are asked for."""

    table: ClassVar[Callable[[], dict[str, Loader]]]

    @cached_property
    def loaders(self) -> dict[str, Loader]:
        """Name -> loader, in the declared order."""
        return type(self).table()

    def list_commands(self, ctx: Any) -> list[str]:
        """Every name, in the declared order."""
        return list(self.loaders)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name in self.loaders and cmd_name not in self.commands:
            self.commands[cmd_name] = self.loaders[cmd_name]()
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` name; a wrong name is answered with the nearest one."""
        if args and args[0] not in self.loaders:
            raise UnknownArgument(
                f"no command {args[0][:60]!r} in `{ctx.command_path}`",
                hint=did_you_mean(args[0], self.loaders) or f"one of: {', '.join(self.loaders)}",
                field="command",
            )
        return super().resolve_command(ctx, args)


def lazy(table: Callable[[], dict[str, Loader]]) -> type[LazyGroup]:
    """The class of a group whose names come from `table`, which is read when they are needed."""
    return type("Group", (LazyGroup,), {"table": staticmethod(table)})


def group(
    name: str,
    help: str,  # noqa: A002
    table: Callable[[], dict[str, Loader]],
    default: Function | None = None,
) -> Any:
    """A click group of lazily made commands; `default` runs when no verb was given."""
    kind = lazy(table)
    app = typer.Typer(name=name, cls=kind, rich_markup_mode=None, add_completion=False)
    if default is None:
        app.callback(help=help, no_args_is_help=True)(lambda: None)
    else:
        app.callback(help=help, invoke_without_command=True)(_wrapped(default, only_alone=True))
    made = plainly_parsed(typer.main.get_command(app))
    made.name = name
    return made


def command(name: str, function: Function, help: str = "") -> Any:  # noqa: A002
    """A click command of `function(door, **options)`; it may return an exit code."""
    return make(name, help or inspect.cleandoc(function.__doc__ or ""), _wrapped(function))


def make(name: str, help: str, function: Function) -> Any:  # noqa: A002
    """A click command of a function that typer can read."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, help=help)(function)
    return plainly_parsed(typer.main.get_command(app))


class _AsTyped:
    """Takes a parameter as it was typed: text, a list of texts, or a flag."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """`value`; nothing for a parameter of several values is an empty list."""
        if param.multiple or param.nargs == -1:
            return list(value or ())
        return value


def plainly_parsed(made: Any) -> Any:
    """A click command of typer's whose text parameters are taken as they were typed."""
    # typer 0.29 builds a pydantic adapter for every parameter, given or not: 100 ms and more of
    # each command. Our parameters are text that the tools check themselves. Another typer has no
    # such attributes and does not mind.
    with_help = made.get_help_option

    def get_help_option(ctx: Any) -> Any:
        return _as_typed(with_help(ctx))

    made.get_help_option = get_help_option
    made.params = [_as_typed(one) for one in made.params]
    return made


def _as_typed(parameter: Any) -> Any:
    described = getattr(parameter, "type_descriptor", None)
    if described is not None and described.annotation in (str, list[str], bool):
        parameter._runtime_param = _AsTyped()
    return parameter


def with_globals(own: Iterable[inspect.Parameter], body: Callable[..., Any]) -> Function:
    """A function for typer: `own` and the global options; calls `body(ctx, door, **own)`."""

    def run(ctx: typer.Context, **given: Any) -> Any:
        later = {name: given.pop(name) for name in GLOBAL_NAMES}
        before = ctx.find_root().obj or Globals()
        return body(ctx, Door(before.overridden(later)), **given)

    context = _parameter("ctx", typer.Context, inspect.Parameter.empty)
    signature = inspect.Signature([context, *own, *GLOBAL_PARAMETERS])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _wrapped(function: Function, *, only_alone: bool = False) -> Function:
    own = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    ]

    def body(ctx: typer.Context, door: Door, **given: Any) -> Any:
        if only_alone and ctx.invoked_subcommand:
            ctx.find_root().obj = door.options
            return None
        return function(door, **given)

    return with_globals(own, body)
