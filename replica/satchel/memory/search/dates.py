"""Dates that a question names, absolute or relative, as spans of time; and how near a row is.

Read are ISO dates, day-month-year in figures and in English words, CJK dates, months, seasons,
quarters and years, "N weeks ago", "last/this/next week", week days, and "3 days before May 7".
Days are days of UTC. Everything follows from the text and `now`: there is no other clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from typing import NamedTuple

DAY_MS = 86_400_000
MENTIONS_MAX = 8
_EPOCH = date(1970, 1, 1)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "couple": 2,
    "three": 3,
    "few": 3,
    "several": 5,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_MONTH = r"(?P<month>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?:\s+of)?"
_UNIT = r"(?P<unit>day|night|week|fortnight|month|year)s?"
_COMING = frozenset({"next", "coming"})
_PRESENT = frozenset({"this", "current"})
_PAST = frozenset({"last", "past", "previous"})


class Span(NamedTuple):
    """Days from `start` up to and without `end`."""

    start: date
    end: date

    @property
    def days(self) -> int:
        """How many."""
        return (self.end - self.start).days

    @property
    def said_ms(self) -> tuple[int, int]:
        """When people speak of it: from its first millisecond on, of a day for three days more."""
        start, end = (self.start - _EPOCH).days, (self.end - _EPOCH).days
        return start * DAY_MS, (end + (3 if self.days <= WEEKLY_DAYS else 0)) * DAY_MS

    def nearness(self, at_ms: int) -> float:
        """How well something said or true at this time fits, 0..1.

        People speak of what was a few days ago, so the days behind a date count nearly as much as
        the date itself; a whole year says little.
        """
        day = at_ms // DAY_MS
        start, end = (self.start - _EPOCH).days, (self.end - _EPOCH).days
        after, before = max(0, day - end + 1), max(0, start - day)
        if self.days > YEARLY_DAYS:
            return 0.3 if not after and not before else 0.0
        if self.days > WEEKLY_DAYS:
            return 1.0 if not after and not before else 0.4 if not before and after <= 31 else 0.0
        if not before and after <= 3:
            return 1.0
        if before <= 2 and after <= 14:
            return 0.6
        return 0.3 if before <= 31 and after <= 31 else 0.0


WEEKLY_DAYS = 14
"""Up to here a span is as sharp as a day."""
YEARLY_DAYS = 100
"""Beyond, it is as dull as a year."""


def mentioned(text: str, now_ms: int) -> tuple[Span, ...]:
    """The spans that a text names, in its order; what is no date in any calendar is left out."""
    if not _maybe().search(text):
        return ()
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    found: list[tuple[int, Span]] = []
    taken = bytearray(len(text))  # 1 where an earlier form has read a date
    for form in FORMS:
        for match in form.pattern.finditer(text):
            start, end = match.span()
            spans = [] if any(taken[start:end]) else form.spans(match, today)
            if spans:
                taken[start:end] = b"\1" * (end - start)
                found += [(start, span) for span in spans]
    found.sort(key=lambda pair: pair[0])
    return tuple(dict.fromkeys(span for _, span in found))[:MENTIONS_MAX]


class Form:
    """One way to write a date, and how to read it; words are checked by the reader."""

    def __init__(self, written: str, read: Callable[[re.Match[str], date], Iterator[Span]]) -> None:
        """`written` is a regular expression."""
        self._written, self._read = written, read

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled with the first question that may have a date: that takes milliseconds."""
        return re.compile(self._written, re.IGNORECASE)

    def spans(self, match: re.Match[str], today: date) -> list[Span]:
        """What the match says; nothing for 31 June or a year that no calendar has."""
        try:
            return list(self._read(match, today))
        except (ValueError, OverflowError):
            return []


@cache
def _maybe() -> re.Pattern[str]:
    """Most questions name no date: this tells so at once."""
    words = "last|past|this|next|coming|previous|current|yesterday|today|tonight|tomorrow"
    words += "|day|week|fortnight|month|year"
    names = "|".join(name[:3] for name in (*_MONTHS, *_DAYS, *_SEASONS))
    return re.compile(rf"\d|\b(?:{words}|{names})", re.IGNORECASE)


def _one(day: date) -> Span:
    return Span(day, day + timedelta(days=1))


def _months(year: int, month: int, count: int = 1) -> Span:
    """So many whole months from this one on."""
    end = year * 12 + month - 1 + count
    return Span(date(year, month, 1), date(end // 12, end % 12 + 1, 1))


def _week(day: date) -> Span:
    monday = day - timedelta(days=day.weekday())
    return Span(monday, monday + timedelta(days=7))


def _around(day: date, unit: str) -> Span:
    """ "Two weeks ago" is said of a week, "two months ago" of a month, "a year ago" of a year."""
    if unit == "year":
        return _months(day.year, 1, 12)
    if unit == "month":
        return _months(day.year, day.month)
    return _week(day) if unit in ("week", "fortnight") else _one(day)


def _shifted(day: date, unit: str, count: int) -> date:
    """`count` units later; the 31st becomes the last day of a shorter month."""
    if unit in ("month", "year"):
        month = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
        year, month = month // 12, month % 12 + 1
        return date(year, month, min(day.day, _months(year, month).days))
    return day + timedelta(days=count * {"week": 7, "fortnight": 14}.get(unit, 1))


def _month_number(name: str) -> int:
    """1 to 12, of a whole name or its first letters. Raises ValueError for another word."""
    word = name.lower()
    for number, month in enumerate(_MONTHS, 1):
        if word in (month, month[:3], "sept" if number == 9 else month):
            return number
    raise ValueError(f"{name} is no month")


def _count_of(match: re.Match[str]) -> int:
    said = match["count"].lower()
    return int(said) if said.isdigit() else _NUMBERS[said]


def _iso(match: re.Match[str], _: date) -> Iterator[Span]:
    year, month = int(match["year"]), int(match["month"])
    yield _one(date(year, month, int(match["day"]))) if match["day"] else _months(year, month)


def _figures(match: re.Match[str], _: date) -> Iterator[Span]:
    """7/5/2023 is the 7th of May and July the 5th: both are meant, unless only one can be."""
    a, b, year = int(match["a"]), int(match["b"]), int(match["year"])
    for day, month in dict.fromkeys(((a, b), (b, a))):
        if month <= 12:
            yield _one(date(year, month, day))


def _named_day(match: re.Match[str], today: date) -> Iterator[Span]:
    """Without a year it is the last such day."""
    month, day = _month_number(match["month"]), int(match["day"])
    past = (month, day) <= (today.month, today.day)
    year = int(match["year"]) if match["year"] else today.year - (0 if past else 1)
    yield _one(date(year, month, day))


def _word_year(match: re.Match[str], _: date) -> Iterator[Span]:
    """May 2023, summer 2023."""
    word, year = match["word"].lower(), int(match["year"])
    if word in _SEASONS:
        yield _months(year, _SEASONS[word], 3)
    else:
        yield _months(year, _month_number(word))


def _quarter(match: re.Match[str], today: date) -> Iterator[Span]:
    year = int(match["year"]) if match["year"] else today.year
    yield _months(year, int(match["quarter"]) * 3 - 2, 3)


def _year(match: re.Match[str], _: date) -> Iterator[Span]:
    yield _months(int(match["year"]), 1, 12)


def _near(match: re.Match[str], today: date) -> Iterator[Span]:
    ago = {"yesterday": 1, "last night": 1, "tomorrow": -1}.get(match["near"].lower(), 0)
    yield _one(today - timedelta(days=ago + (1 if match["before"] else 0)))


def _ago(match: re.Match[str], today: date) -> Iterator[Span]:
    count, unit = _count_of(match), match["unit"].lower()
    if match["in"] or match["ago"]:
        yield _around(_shifted(today, unit, count if match["in"] else -count), unit)


def _lately(match: re.Match[str], today: date) -> Iterator[Span]:
    """The last three weeks: from then on until now."""
    start = _shifted(today, match["unit"].lower(), -_count_of(match))
    yield Span(start, today + timedelta(days=1))


def _pointed(match: re.Match[str], today: date) -> Iterator[Span]:
    """Last week, this year, next Friday, in May, last summer; "in" and "on" look back."""
    which, word = match["which"].lower(), match["word"].lower()
    if word in _UNITS:
        if which in _PAST | _PRESENT | _COMING:
            yield _unit_pointed(which, word, today)
    elif word in _DAYS:
        yield _one(_weekday(which, _DAYS.index(word), today))
    elif word in _SEASONS:
        started = _SEASONS[word] <= today.month
        year = today.year - (0 if started else 1) + (1 if which in _COMING else 0)
        yield _months(year, _SEASONS[word], 3)
    else:
        yield _month_pointed(which, _month_number(word), today)


_UNITS = ("week", "weekend", "fortnight", "month", "year")


def _unit_pointed(which: str, unit: str, today: date) -> Span:
    step = 1 if which in _COMING else -1 if which in _PAST else 0
    if unit == "weekend":
        monday = _week(today).start + timedelta(days=7 * step)
        return Span(monday + timedelta(days=5), monday + timedelta(days=7))
    return _around(_shifted(today, unit, step), unit)


def _weekday(which: str, wanted: int, today: date) -> date:
    """The last such day before today, or the next one behind it."""
    if which in _COMING:
        return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
    return today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)


def _month_pointed(which: str, month: int, today: date) -> Span:
    if which in _COMING:
        return _months(today.year if month > today.month else today.year + 1, month)
    over = month < today.month if which in _PAST else month <= today.month
    return _months(today.year if over else today.year - 1, month)


def _offset(match: re.Match[str], today: date) -> Iterator[Span]:
    """3 days before a date, which one of the other forms reads."""
    anchor = _leading(match["anchor"], today)
    if anchor is not None:
        later = match["side"].lower() in ("after", "later than")
        unit, count = match["unit"].lower(), _count_of(match)
        start = _shifted(anchor.start, unit, count if later else -count)
        yield Span(start, start + timedelta(days=anchor.days))


def _leading(text: str, today: date) -> Span | None:
    """The span that a text begins with, if it does."""
    for form in FORMS[1:]:
        match = form.pattern.match(text)
        spans = form.spans(match, today) if match else []
        if spans:
            return spans[0]
    return None


FORMS = (
    Form(
        rf"\b{_COUNT}\s+{_UNIT}\s+(?P<side>before|after|prior to|earlier than|later than)\s+"
        r"(?:the\s+)?(?P<anchor>[\w/.,\- ]{3,40})",
        _offset,
    ),
    Form(rf"(?<![\w./-]){_YEAR}-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?(?![\d-])", _iso),
    Form(rf"(?<!\d){_YEAR}年(?P<month>\d\d?)月(?:(?P<day>\d\d?)日)?", _iso),
    Form(rf"(?<![\w./-])(?P<a>\d\d?)([-/.])(?P<b>\d\d?)\2{_YEAR}(?![\d-])", _figures),
    Form(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}\b,?(?:\s+{_YEAR}\b)?", _named_day),
    Form(rf"\b{_MONTH}\s+{_DAY}\b(?!:),?(?:\s+{_YEAR}\b)?", _named_day),
    Form(rf"\b(?P<word>[a-z]{{3,9}})\.?,?\s+(?:of\s+)?{_YEAR}\b", _word_year),
    Form(rf"\bq(?P<quarter>[1-4])(?:\s*(?:of\s+)?{_YEAR})?\b", _quarter),
    Form(
        r"\b(?P<before>the day before\s+)?(?P<near>yesterday|last night|today|tonight|tomorrow"
        r"|this (?:morning|evening|afternoon))\b",
        _near,
    ),
    Form(rf"\b(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}\b", _lately),
    Form(
        rf"\b(?P<in>in\s+)?(?:a\s+)?{_COUNT}\s+{_UNIT}\b(?P<ago>\s+(?:ago|back|earlier)\b)?",
        _ago,
    ),
    Form(
        r"\b(?P<which>last|past|previous|this|current|next|coming|on|in|during|since|until|by|of"
        r"|early|late|mid)[ -]+(?P<word>(?!(?:last|past|this|next|previous|early|late|mid)\b)"
        r"[a-z]{3,9})\b",
        _pointed,
    ),
    Form(r"(?<![\w.$€£#/-])(?P<year>(?:19|20)\d\d)(?![\w/-]|\.\d|\s*%)", _year),
)
