"""Taking fields out of JSON that anybody may have written: each is of its type, or absent."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from satchel.memory.limits import TIME_MS_MAX, TIME_MS_MIN

Object = dict[str, Any]
COUNT_MAX = 2**53
ID_CHARS_MAX = 95
NAME_CHARS_MAX = 200
PATH_CHARS_MAX = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def an_object(value: object) -> Object:
    """The JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Object]:
    """The objects in a JSON array."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def name(value: object, chars_max: int = NAME_CHARS_MAX) -> str | None:
    """A text of one line, or None; also where it is longer: to cut it could cut a secret in two."""
    shown = " ".join(value.split()) if isinstance(value, str) else ""
    return shown if 0 < len(shown) <= chars_max else None


def folder(value: object) -> str | None:
    """A path, or None."""
    return name(value, PATH_CHARS_MAX)


def identity(value: object) -> str | None:
    """A host's id: short, and of printable characters without white space; else None."""
    if not isinstance(value, str) or not 0 < len(value) <= ID_CHARS_MAX:
        return None
    return value if value.isprintable() and not any(one.isspace() for one in value) else None


def whole(value: object) -> int | None:
    """A count: a whole number of 0 or more, or None."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MAX:
        return None
    return value


def dollars(value: object) -> float | None:
    """An amount of 0 or more, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if math.isfinite(amount) and 0 <= amount <= 1e9 else None


def moment(value: object) -> int | None:
    """ISO-8601, UTC where it names no zone, as UTC milliseconds; or None."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        at = datetime.fromisoformat(value)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        since = at - _EPOCH
    except (ValueError, OverflowError):
        return None
    found = since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000
    return found if TIME_MS_MIN <= found <= TIME_MS_MAX else None


def compact(value: object) -> str:
    """JSON without spaces; nothing for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parts_text(value: object, kinds: frozenset[str]) -> str:
    """The text of a message: a text, or the text parts of these types in a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    found = [
        one if isinstance(one, str) else text(one.get("text"))
        for one in value
        if isinstance(one, str)
        or (isinstance(one, dict) and text(one.get("type", "text")) in kinds)
    ]
    return "\n\n".join(part for part in found if part.strip())
