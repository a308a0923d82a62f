"""Numbers as people read them, and the small change of sentences; all of it English."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from satchel_warehouse.reports.report import Row, Rows, Unit

NOTHING = "–"
UNNAMED = "(none)"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_ID = re.compile("[0-9a-fA-F-]{32,80}")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They turn what follows around, far beyond the name that brings them."""


def visible(text: str) -> str:
    """`text` with what is no character to be seen replaced: it can steer no terminal and no page.

    Control characters, and what XML has no place for, become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(one) for one in text if one not in _BIDI)


def _shown(one: str) -> str:
    code = ord(one)
    lost = unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE
    return "\ufffd" if lost else one


def name_of(value: Any) -> str:
    """A name for a label: never empty, never with control characters."""
    return visible(str(value)) if value not in (None, "") else UNNAMED


def short(value: str) -> str:
    """The end of a long id, as the other answers for people show it; another name as it is."""
    return value[-8:] if _ID.fullmatch(value) else value


def count(value: float) -> str:
    """`12,345`; from a million on `1.2 M`."""
    for bound, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= bound:
            return f"{value / bound:.3g} {letter}"
    return f"{value:,.0f}"


def number(value: float) -> str:
    """With as many digits as say something."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.2f}"


def share(value: float) -> str:
    """0.1234 as `12%`; what is not quite nothing or all keeps a digit."""
    percent = value * 100
    if percent == 0 or 1 <= percent <= 99 or percent >= 100:
        return f"{percent:,.0f}%"
    return f"{percent:.2g}%" if percent < 1 else f"{math.floor(percent * 10) / 10:.1f}%"


def money(value: float) -> str:
    """US dollars."""
    return f"${value:,.0f}" if value >= 1_000 else f"${value:,.2f}"


def span(seconds: float) -> str:
    """`45 s`, `12 min`, `3.5 h`, `4 d`."""
    sign, size = ("−" if seconds < 0 else ""), abs(seconds)
    if size < _MINUTE_S:
        text = f"{size:.0f} s" if size >= 1 or size == 0 else f"{size * 1000:.0f} ms"
    elif size < _HOUR_S:
        text = f"{size / _MINUTE_S:.0f} min"
    elif size < 2 * _DAY_S:
        text = f"{size / _HOUR_S:.1f} h"
    else:
        text = f"{size / _DAY_S:.0f} d"
    return sign + text


def day(value: date) -> str:
    """`3 November 2026`."""
    return f"{value.day} {value:%B %Y}"


def moment(value: datetime) -> str:
    """`2026-11-30 11:02 UTC`, of any offset."""
    offset = value.utcoffset() or timedelta()
    return f"{(value - offset).replace(tzinfo=None):%Y-%m-%d %H:%M} UTC"


_FORMS: Mapping[Unit, Callable[[Any], str]] = {
    "text": lambda value: visible(str(value)),
    "id": lambda value: visible(short(str(value))),
    "count": lambda value: f"{value:,.0f}",
    "number": number,
    "seconds": span,
    "share": share,
    "money": money,
    "date": lambda value: value.isoformat(),
    "time": lambda value: moment(value).removesuffix(" UTC"),
    "flag": lambda value: "yes" if value else "no",
}


def shown(value: Any, unit: Unit) -> str:
    """A cell of a table."""
    return NOTHING if value is None or value == "" else _FORMS[unit](value)


def figure(value: Any, unit: Unit) -> str:
    """A value in a sentence or a tile: large counts are shortened."""
    return count(value) if unit == "count" and value is not None else shown(value, unit)


def plural(many: float, one: str, more: str = "") -> str:
    """`1 machine`, `2 machines`."""
    return f"{count(many)} {one if many == 1 else more or one + 's'}"


def listed(names: Iterable[str], most: int = 3) -> str:
    """`a, b and c`; what is beyond `most` is counted."""
    every = [visible(one) for one in names]
    if len(every) > most:
        every = [*every[:most], f"{len(every) - most} more"]
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def total(rows: Iterable[Row], column: str) -> float:
    """The sum of a column; what is unknown counts nothing."""
    return sum(row[column] or 0 for row in rows)


def totals(rows: Iterable[Row], by: str, column: str) -> dict[Any, float]:
    """The sum of a column for each value of another, the largest first."""
    sums: dict[Any, float] = {}
    for row in rows:
        sums[row[by]] = sums.get(row[by], 0) + (row[column] or 0)
    return dict(sorted(sums.items(), key=lambda item: (-item[1], str(item[0]))))


def top(rows: Rows, by: str, column: str) -> tuple[str, float, float]:
    """Who has most of a column: its name, how much, and its share of all (0 of nothing)."""
    sums = totals(rows, by, column)
    name, most = next(iter(sums.items()))
    every = sum(sums.values())
    return name_of(name), most, most / every if every else 0.0


def sentences(*parts: str) -> str:
    """The parts that say something, one behind the other."""
    return " ".join(part for part in parts if part)
