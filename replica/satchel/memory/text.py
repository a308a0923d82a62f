"""What text, numbers, times and JSON must be to enter a memory; each refusal names its field."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from satchel.errors import InvalidInput, did_you_mean
from satchel.memory.limits import (
    ALIASES_MAX,
    JSON_BYTES_MAX,
    NAME_CHARS_MAX,
    TEXT_BYTES_MAX,
    TIME_MS_MAX,
    TIME_MS_MIN,
    TITLE_CHARS_MAX,
)
from satchel.store.embedded_text import content_hash as content_hash
from satchel.store.embedded_text import normalised as normalised
from satchel.store.embedded_text import stored_list as stored_list

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def content(value: object, field: str = "text") -> str:
    """Text of a memory: not blank, any Unicode but NUL and lone surrogates, at most 1 MB."""
    text = _storable(value, field)
    if not text.strip():
        raise InvalidInput(f"`{field}` is empty", hint="give the text to keep", field=field)
    _refuse_long(len(text.encode()), TEXT_BYTES_MAX, "bytes", field)
    return text


def optional_text(value: object, field: str, chars_max: int = TITLE_CHARS_MAX) -> str | None:
    """Text that may be absent; blank counts as absent."""
    if value is None:
        return None
    text = _storable(value, field)
    _refuse_long(len(text), chars_max, "characters", field)
    return text if text.strip() else None


def optional_long(value: object, field: str) -> str | None:
    """Text that may be absent, up to 1 MB of UTF-8."""
    text = optional_text(value, field, TEXT_BYTES_MAX)
    if text is not None:
        _refuse_long(len(text.encode()), TEXT_BYTES_MAX, "bytes", field)
    return text


def name(value: object, field: str) -> str:
    """A name: one line of at most 200 characters, without white space around it."""
    text = _storable(value, field).strip()
    if not text:
        raise InvalidInput(f"`{field}` is empty", hint="give a name", field=field)
    for position, character in enumerate(text):
        if unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            raise InvalidInput(
                f"`{field}` has a control character at position {position}",
                hint="a name is one line",
                field=field,
            )
    _refuse_long(len(text), NAME_CHARS_MAX, "characters", field)
    return text


def optional_name(value: object, field: str) -> str | None:
    """A name that may be absent."""
    return None if value is None else name(value, field)


def names(value: object, field: str, count_max: int = ALIASES_MAX) -> list[str]:
    """A list of different names, in the order given."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise InvalidInput(
            f"`{field}` must be a list of text, not {type(value).__name__}",
            hint=f'for example ["{value}"]' if isinstance(value, str) else "",
            field=field,
        )
    _refuse_long(len(value), count_max, "entries", field)
    return list(dict.fromkeys(name(one, f"{field}[{n}]") for n, one in enumerate(value)))


def one_of(value: object, known: Iterable[str], field: str) -> str:
    """One of a few words."""
    choices = list(known)
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidInput(
        f"`{field}` is {value!r}, must be one of: {', '.join(choices)}",
        hint=did_you_mean(str(value), choices),
        field=field,
    )


def share(value: object, field: str) -> float | None:
    """A number in 0..1 that may be absent; -0.0 becomes 0.0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"`{field}` is {value!r}, must be a number in 0..1", field=field)
    return float(value) + 0.0


def number(value: object, field: str) -> float | None:
    """A finite number that may be absent; -0.0 becomes 0.0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise InvalidInput(f"`{field}` is {str(value)[:60]}, must be a finite number", field=field)
    return float(value) + 0.0


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def whole(value: object, field: str, least: int, most: int) -> int:
    """An integer within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(
            f"`{field}` is {value!r}, must be a whole number in {least}..{most}", field=field
        )
    return value


def optional_whole(value: object, field: str, least: int, most: int) -> int | None:
    """An integer within bounds that may be absent."""
    return None if value is None else whole(value, field, least, most)


def time_ms(value: object, field: str) -> int | None:
    """UTC milliseconds within the years 1 to 9999, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"`{field}` is {value!r}, must be UTC milliseconds", field=field)
    if not TIME_MS_MIN <= value <= TIME_MS_MAX:
        raise InvalidInput(f"`{field}` lies outside the years 1 to 9999", field=field)
    return value


def flag(value: object, field: str) -> int | None:
    """A yes or no as it is stored: 1 or NULL."""
    if value is None or value is False:
        return None
    if value is True:
        return 1
    raise InvalidInput(f"`{field}` is {value!r}, must be true or false", field=field)


def json_object(value: object, field: str = "metadata") -> str | None:
    """A JSON object as text: text given is kept byte for byte, a mapping is written compactly."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return _dumped(value, field)
    text = _storable(value, field)
    _refuse_long(len(text.encode()), JSON_BYTES_MAX, "bytes", field)
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"`{field}` is not JSON: {error}",
            hint='for example {"ticket": "A-17"}',
            field=field,
        ) from error
    if not isinstance(parsed, dict):
        raise InvalidInput(
            f"`{field}` must be a JSON object, not {type(parsed).__name__}",
            hint='for example {"ticket": "A-17"}',
            field=field,
        )
    _refuse_escaped(parsed, field)
    return text


def json_list(values: Sequence[str]) -> str | None:
    """A list of text as it is stored: a JSON array, NULL when empty."""
    if not values:
        return None
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))


def stored_object(stored: object) -> dict[str, Any]:
    """A JSON object as it is stored; what is no such thing counts as empty."""
    try:
        found = json.loads(stored) if isinstance(stored, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _storable(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"`{field}` must be text, not {type(value).__name__}", field=field)
    found = _UNSTORABLE.search(value)
    if found:
        what = "NUL" if found.group() == "\0" else f"a lone surrogate (U+{ord(found.group()):04X})"
        raise InvalidInput(
            f"`{field}` has {what} at position {found.start()}",
            hint="remove that character",
            field=field,
        )
    return value


def _refuse_long(found: int, most: int, unit: str, field: str) -> None:
    if found > most:
        raise InvalidInput(
            f"`{field}` has {found} {unit}, at most {most} are allowed",
            hint="split it, or keep a reference to where it lies",
            field=field,
        )


def _dumped(value: Mapping[Any, Any], field: str) -> str:
    _refuse_escaped(dict(value), field)
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"`{field}` is not JSON: {error}", field=field) from error
    _refuse_long(len(text.encode()), JSON_BYTES_MAX, "bytes", field)
    return text


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _refuse_escaped(value: object, field: str) -> None:
    """NUL and surrogates may also come in as `\\u0000`; Postgres' jsonb takes neither."""
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            _storable(one, field)
        elif isinstance(one, Mapping):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            stack += one


def same_layout(one: str, other: str) -> bool:
    """Whether the lines of two texts are indented alike: in code and lists that is meaning."""
    return _indents(one) == _indents(other)


def _indents(text: str) -> list[int]:
    """Columns before each line; one blank may come from a text that was wrapped."""
    lines = [line for line in text.strip().expandtabs().splitlines() if line.strip()]
    found = [len(line) - len(line.lstrip()) for line in lines]
    return found if max(found, default=0) > 1 else []
