"""The sixth tool: any other tool by its name, a list of them, or help to find one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.errors import (
    InvalidInput,
    SatchelError,
    TimedOut,
    UnknownArgument,
    describe,
    did_you_mean,
    is_typed,
)
from satchel.tools.help import HELP, answer
from satchel.tools.kinds import Range
from satchel.tools.parameter import Parameter
from satchel.tools.values import parse, wrong

if TYPE_CHECKING:
    from satchel.mcp_server.session import Session

BATCH = "batch"
CALLS_MAX = 100
TIMEOUT_S_MAX = 3600
_NOT_INSIDE = (HELP, BATCH)


@dataclass(frozen=True, slots=True)
class _CallByName:
    """What is shown of it, and the arguments it takes."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]


CALL = _CallByName(
    name="satchel_call",
    summary=(
        "Call any other tool by name: tasks, agents, messages, edges, history, delete, ..."
        ' tool="help" with args={"query": "words"} finds tools and their arguments;'
        ' tool="batch" with args={"calls": [{"tool", "args"}, ...]} calls several in order.'
    ),
    parameters=(
        Parameter(name="tool", base="text", required=True, help="noun_verb, help or batch"),
        Parameter(name="args", base="object", help="The tool's arguments"),
        Parameter(
            name="dry_run", base="boolean", default=False, help="Answer what it would, keep nothing"
        ),
        Parameter(
            name="timeout_s", base="integer", range=Range(1, TIMEOUT_S_MAX), help="Stop it then"
        ),
    ),
)
_CALLS = Parameter(name="calls", base="object", many=True, required=True)
_ON_ERROR = Parameter(name="on_error", base="text", default="stop", choices=("stop", "continue"))


class Asked(NamedTuple):
    """What a `satchel_call` asks for."""

    tool: str
    args: dict[str, Any]
    dry_run: bool = False
    timeout_s: int | None = None


def call(session: Session, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the tool, the batch or the help that is asked for. Raises typed errors."""
    asked = read(arguments)
    if asked.tool == HELP:
        return answer(asked.args)
    if asked.tool == BATCH:
        return _batch(session, asked)
    if asked.dry_run:
        return session.rehearse(asked.tool, asked.args)
    return session.run(asked.tool, asked.args)


def read(arguments: Mapping[str, Any]) -> Asked:
    """Checked arguments of a `satchel_call`. Raises UnknownArgument, InvalidInput."""
    known = {one.name: one for one in CALL.parameters}
    for name in arguments:
        if name not in known:
            near = did_you_mean(name, known) or f"it takes: {', '.join(known)}"
            hint = f"{near}; the tool's own arguments go into args"
            raise UnknownArgument(
                f"{CALL.name} has no argument {name[:60]!r}", hint=hint, field=name
            )
    if arguments.get("tool") is None:
        raise wrong("tool", f"is missing: {CALL.name} needs it", 'try tool="help"')
    parsed = {
        name: parse(known[name], value, from_text=False)
        for name, value in arguments.items()
        if value is not None
    }
    return Asked(
        parsed["tool"],
        parsed.get("args") or {},
        parsed.get("dry_run", False),
        parsed.get("timeout_s"),
    )


def named(name: str, arguments: Mapping[str, Any]) -> str:
    """What a call is called in a message."""
    return str(arguments.get("tool"))[:60] if name == CALL.name else name[:60]


def timeout_s(name: str, arguments: Mapping[str, Any], default_s: float, wait_s: float) -> float:
    """How long a call may take: what it asks for, else the default and what it waits for."""
    asked = arguments.get("timeout_s") if name == CALL.name else None
    if type(asked) is int and 1 <= asked <= TIMEOUT_S_MAX:
        return float(asked)
    return default_s + wait_s


def wait_s(session: Session, name: str, arguments: Mapping[str, Any]) -> float:
    """How long a call means to wait for something to come; 0 for nearly all.

    The arguments of a call that waits are checked here, so that a wrong one is told at once and
    takes no place of those that wait. Raises what the call would raise for them.
    """
    if name != CALL.name:
        return session.wait_s(name, arguments)
    if arguments.get("tool") == BATCH:
        return _wait_of_batch(session, arguments)
    inner = arguments.get("args")
    if not isinstance(inner, Mapping) or not inner.get("wait"):
        return 0.0
    asked = read(arguments)
    if asked.tool == HELP or asked.dry_run:  # neither waits
        return 0.0
    return session.wait_s(asked.tool, asked.args)


def _wait_of_batch(session: Session, arguments: Mapping[str, Any]) -> float:
    """All that its calls wait, one after the other; one that is wrong fails before it waits."""
    asked = read(arguments)
    calls, _ = _calls(asked.args)
    if asked.dry_run:
        return 0.0
    total_s = 0.0
    for one in calls:
        with suppress(SatchelError):
            total_s += session.wait_s(one.tool, one.args)
    return min(total_s, float(TIMEOUT_S_MAX))


def _batch(session: Session, asked: Asked) -> dict[str, Any]:
    """Calls in their order, each durable by itself; the first that fails ends them, or not."""
    calls, on_error = _calls(asked.args)
    run = session.rehearse if asked.dry_run else session.run
    results: list[dict[str, Any]] = []
    for one in calls:
        try:
            results.append({"tool": one.tool, "ok": True, "answer": run(one.tool, one.args)})
        except Exception as error:
            if not is_typed(error):
                raise
            results.append({"tool": one.tool, "ok": False, "error": describe(error)})
            if on_error == "stop" or isinstance(error, TimedOut):
                break
    done = sum(one["ok"] for one in results)
    failed = len(results) - done
    return {
        "results": results,
        "done": done,
        "failed": failed,
        "skipped": len(calls) - len(results),
    }


def _calls(args: Mapping[str, Any]) -> tuple[list[Asked], str]:
    """Every call of a batch is read before the first one runs."""
    for name in args:
        if name not in ("calls", "on_error"):
            hint = did_you_mean(name, ("calls", "on_error")) or "it takes: calls, on_error"
            raise UnknownArgument(f"batch has no argument {name[:60]!r}", hint=hint, field=name)
    if not args.get("calls"):
        raise wrong("calls", "is missing or empty", 'give [{"tool": "…", "args": {…}}, …]')
    given = parse(_CALLS, args["calls"], from_text=False)
    if len(given) > CALLS_MAX:
        raise wrong("calls", f"has {len(given)} calls, {CALLS_MAX} at most", "split it")
    calls = [_one(number, one) for number, one in enumerate(given)]
    return calls, parse(_ON_ERROR, args.get("on_error", "stop"), from_text=False)


def _one(number: int, given: Mapping[str, Any]) -> Asked:
    """One call of a batch: a tool and its arguments, neither help nor another batch."""
    where = f"calls[{number}]"
    try:
        asked = read(given)
    except InvalidInput as error:
        raise type(error)(f"{where}: {error}", hint=error.hint, field=where) from error
    if asked.tool in _NOT_INSIDE or asked.dry_run or asked.timeout_s is not None:
        raise wrong(where, "can only name a tool and its args", "the rest is said of the batch")
    return asked
