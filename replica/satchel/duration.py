"""Lengths of time as people type them: `30s`, `15m`, `2h30m`, `1d`."""

from __future__ import annotations

import re

from satchel.errors import InvalidInput

SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
EVERY_S_MIN = 10
EVERY_S_MAX = 31 * SECONDS["d"]
"""The longest interval that the Task Scheduler of Windows takes; the others follow."""
_PARTS = re.compile("".join(f"(?:([0-9]{{1,9}}){unit})?" for unit in SECONDS))


def seconds(text: str, *, field: str, least_s: int = EVERY_S_MIN, most_s: int = EVERY_S_MAX) -> int:
    """`text` in seconds. Raises InvalidInput when it is no length of time, or out of the range."""
    found = _PARTS.fullmatch(text.strip())
    if not found or not any(found.groups()):
        raise InvalidInput(
            f"{field}: {text[:40]!r} is no length of time",
            hint="write it as 30s, 15m, 1h, 2h30m or 1d, the largest unit first",
            field=field,
        )
    counted = zip(found.groups(), SECONDS.values(), strict=True)
    total = sum(int(count or 0) * unit_s for count, unit_s in counted)
    if not least_s <= total <= most_s:
        raise InvalidInput(
            f"{field}: {text[:40]!r} is out of range",
            hint=f"give something from {spelled(least_s)} to {spelled(most_s)}",
            field=field,
        )
    return total


def spelled(total_s: int) -> str:
    """`9000` as `2h30m`; what `seconds` reads back."""
    words = []
    for unit, unit_s in SECONDS.items():
        count, total_s = divmod(total_s, unit_s)
        words += [f"{count}{unit}"] if count else []
    return "".join(words) or "0s"
