"""Times, numbers and names as other programs write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from satchel.errors import InvalidInput
from satchel.memory.limits import TIME_MS_MAX, TIME_MS_MIN
from satchel.redaction import redact

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_MAX = 100_000_000_000
"""A number above this is milliseconds: as seconds it were after the year 5000."""


def time_ms(value: object, field: str) -> int | None:
    """UTC milliseconds of ISO-8601 text, seconds or milliseconds; blank is None.

    A time without an offset is of this machine's zone. Raises InvalidInput.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        found = _time_ms(value)
    except (ValueError, OverflowError, OSError) as error:
        raise _no_time(value, field) from error
    if not TIME_MS_MIN <= found <= TIME_MS_MAX:
        raise _no_time(value, field)
    return found


def _time_ms(value: object) -> int:
    if isinstance(value, str):
        since = datetime.fromisoformat(value.strip()).astimezone(UTC) - _EPOCH
        return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return int(value if abs(value) > _SECONDS_MAX else value * 1000)


def _no_time(value: object, field: str) -> InvalidInput:
    return InvalidInput(
        f"`{field}` is {str(value)[:60]!r}, no time of the years 1 to 9999",
        hint="ISO-8601, seconds or milliseconds",
        field=field,
    )


def given(value: object) -> str | None:
    """Text that says something; other programs write "" for what is not there."""
    return value if isinstance(value, str) and value.strip() else None


def mapping(value: object) -> dict[str, Any]:
    """An object as a dict, and nothing for anything else."""
    return dict(value) if isinstance(value, Mapping) else {}


class TextNames:
    """Names for texts that have none of their own: by the text, without the secrets in it.

    Of a name an id is made, and by an id nobody may test what a secret was. Texts that differ in
    their secrets only are counted.
    """

    def __init__(self) -> None:
        """None yet."""
        self._texts: dict[str, list[str]] = {}

    def name(self, text: str) -> str:
        """The same for the same text."""
        clean = redact(text).text
        alike = self._texts.setdefault(clean, [])
        if text not in alike:
            alike.append(text)
        number = alike.index(text)
        return f"{clean}\n{number}" if number else clean
