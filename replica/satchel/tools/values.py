"""Values at the door: checked against a parameter, turned into what memory/ takes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from satchel.errors import InvalidInput, did_you_mean
from satchel.memory.limits import TEXT_BYTES_MAX
from satchel.tools.kinds import LIST_ITEMS_MAX, NAME_CHARS_MAX
from satchel.tools.parameter import Base, Parameter

_INT64_MAX = 2**63 - 1
_JSON_NAMES = {str: "text", bool: "a boolean", int: "an integer", float: "a number"}
_JSON_NAMES |= {list: "a list", dict: "an object", type(None): "null"}


def parse(parameter: Parameter, value: Any, *, from_text: bool) -> Any:
    """`value` as memory/ takes it. Raises InvalidInput naming the argument and the fault.

    `from_text`: the value was typed in a shell, so numbers and objects come as text.
    """
    if value is None and parameter.nullable:
        return None
    if not parameter.many:
        return _one(parameter, value, from_text)
    if not isinstance(value, list | tuple):
        raise wrong(parameter.name, f"must be a list, not {_name(value)}")
    if len(value) > LIST_ITEMS_MAX:
        raise wrong(parameter.name, f"has {len(value)} items, {LIST_ITEMS_MAX} at most")
    return [_one(parameter, item, from_text) for item in value]


def wrong(field: str, fault: str, hint: str = "") -> InvalidInput:
    """The error of a bad argument."""
    return InvalidInput(f"{field} {fault}", hint=hint, field=field)


def check_text(field: str, text: str) -> None:
    """Raise InvalidInput when `text` has NUL or a lone surrogate, with its position."""
    if "\0" not in text and text.isascii():
        return
    for position, character in enumerate(text):
        if character == "\0":
            raise wrong(field, f"has NUL (U+0000) at position {position}", "remove it")
        if "\ud800" <= character <= "\udfff":
            what = f"a lone surrogate (U+{ord(character):04X})"
            raise wrong(field, f"has {what} at position {position}", "send valid UTF-8")


def load_json(field: str, text: str) -> Any:
    """Parse JSON text, without NaN and doubled keys. Raises InvalidInput with line and column."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise wrong(field, f"is not JSON: {error.msg} at {place}", "mend the JSON") from error
    except RecursionError as error:
        raise wrong(field, "is not JSON that can be read: it is nested too deeply") from error
    except ValueError as error:
        raise wrong(field, f"is not JSON: {error}", "mend the JSON") from error


# ---- one value of each base ---------------------------------------------------------------------


def _one(parameter: Parameter, value: Any, from_text: bool) -> Any:
    if isinstance(value, str):
        check_text(parameter.name, value)
    return _PARSERS[parameter.base](parameter, value, from_text)


def _text(parameter: Parameter, value: Any, _: bool) -> str:
    name = parameter.name
    if not isinstance(value, str):
        raise wrong(name, f"must be text, not {_name(value)}")
    if parameter.choices and value not in parameter.choices:
        choices = ", ".join(parameter.choices)
        hint = did_you_mean(value, parameter.choices)
        raise wrong(name, f"is {_short(value)}, must be one of: {choices}", hint)
    if not parameter.long and len(value) > NAME_CHARS_MAX:
        raise wrong(name, f"has {len(value)} characters, {NAME_CHARS_MAX} at most", "shorten it")
    if parameter.long and (size := len(value.encode())) > TEXT_BYTES_MAX:
        raise wrong(name, f"has {size} bytes, {TEXT_BYTES_MAX} at most", "split it")
    return value


def _integer(parameter: Parameter, value: Any, from_text: bool) -> int:
    if from_text and isinstance(value, str):
        try:
            value = int(value) if len(value) < 30 else value
        except ValueError as error:
            raise wrong(parameter.name, f"is {_short(value)}, must be an integer") from error
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(parameter.name, f"must be an integer, not {_name(value)}")
    if not -_INT64_MAX <= value <= _INT64_MAX:
        raise wrong(parameter.name, "is too large for 64 bits")
    return int(_in_range(parameter, value))


def _number(parameter: Parameter, value: Any, from_text: bool) -> float:
    if from_text and isinstance(value, str):
        try:
            value = float(value)
        except ValueError as error:
            raise wrong(parameter.name, f"is {_short(value)}, must be a number") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(parameter.name, f"must be a number, not {_name(value)}")
    if isinstance(value, int) and abs(value) > _INT64_MAX:
        raise wrong(parameter.name, "is too large")
    if not math.isfinite(value):
        raise wrong(parameter.name, f"is {value}, must be finite")
    return float(_in_range(parameter, value))


def _in_range(parameter: Parameter, value: float) -> float:
    limits = parameter.range
    if limits and not limits.least <= value <= limits.most:
        raise wrong(parameter.name, f"is {value}, must lie in {limits.least}..{limits.most}")
    return value


def _boolean(parameter: Parameter, value: Any, _: bool) -> bool:
    if not isinstance(value, bool):
        raise wrong(parameter.name, f"must be true or false, not {_name(value)}")
    return value


def _time(parameter: Parameter, value: Any, _: bool) -> int:
    if not isinstance(value, str):
        raise wrong(parameter.name, f"must be an ISO-8601 time as text, not {_name(value)}")
    try:
        moment = datetime.fromisoformat(value.strip())
        # A time without an offset is one of this machine's zone.
        since_epoch = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as error:
        example = "for example 2026-11-29, 2026-11-29T18:24:00Z or 2026-11-29T18:24+01:00"
        raise wrong(parameter.name, f"is {_short(value)}, not an ISO-8601 time", example) from error
    return (
        since_epoch.days * 86_400_000
        + since_epoch.seconds * 1000
        + (since_epoch.microseconds // 1000)
    )


def _object(parameter: Parameter, value: Any, _: bool) -> dict[str, Any]:
    # MCP clients and shells alike send an object as its text.
    if isinstance(value, str):
        value = load_json(parameter.name, value)
    if not isinstance(value, dict):
        raise wrong(parameter.name, f"must be a JSON object, not {_name(value)}")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise wrong(parameter.name, f"cannot be kept as JSON: {error}") from error
    check_text(parameter.name, text)
    if "\\u0000" in text:
        raise wrong(parameter.name, "has NUL (U+0000) inside", "remove it")
    if (size := len(text.encode())) > TEXT_BYTES_MAX:
        raise wrong(parameter.name, f"has {size} bytes, {TEXT_BYTES_MAX} at most", "shorten it")
    return value


_PARSERS: dict[Base, Callable[[Parameter, Any, bool], Any]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "time": _time,
    "object": _object,
}


def _name(value: Any) -> str:
    return _JSON_NAMES.get(type(value), type(value).__name__)


def _short(value: str) -> str:
    return repr(value if len(value) <= 60 else value[:57] + "...")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        doubled = next(k for i, (k, _) in enumerate(pairs) if k in dict(pairs[:i]))
        raise ValueError(f"the key {doubled!r} stands twice")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")
