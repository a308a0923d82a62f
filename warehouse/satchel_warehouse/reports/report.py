"""What a report is made of: its figures, its sections, and what was read for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

from satchel_warehouse.tenants import is_made_up

Unit = Literal["text", "id", "count", "number", "seconds", "share", "money", "date", "time", "flag"]
"""Seconds are float, shares 0..1, money US dollars, times with offset, dates of UTC."""
Row = Mapping[str, Any]
Rows = Sequence[Row]
Spec = dict[str, Any]
"""A Vega-Lite specification with its data inside."""

NOT_READY = "Not made ready: `satchel warehouse refresh` does it, or `--refresh`."
ROWS_MAX = 100_000
"""Of one section; more are cut off, and the report says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a report is about: whole UTC days from `since` to `until`, one tenant or all one sees.

    `at` is the time of the snapshot, by the server's clock; `tenant` is who was asked for,
    `tenants` are those whose rows are in it.
    """

    since: date
    until: date
    at: datetime
    tenant: str | None = None
    tenants: tuple[str, ...] = ()

    @property
    def days(self) -> int:
        """How many days; both ends count."""
        return (self.until - self.since).days + 1

    def as_parameters(self) -> dict[str, Any]:
        """What the queries may name; `before` is the first day of an equal period just before."""
        before = self.since - timedelta(days=self.days)
        return {
            "since": self.since,
            "until": self.until,
            "before": before,
            "days": self.days,
            "tenants": list(self.tenants),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a section: the name in files, the label on the page, what its values are."""

    name: str
    label: str
    unit: Unit = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A question with its answer: a query, a chart of its rows, a sentence reckoned from them.

    `query` yields `columns` in this order. `say` and `chart` are asked only where there are rows;
    `empty` stands there otherwise. One that is `live` reads what the warehouse holds now, the
    others what `satchel warehouse refresh` made ready.
    """

    name: str
    title: str
    query: str
    columns: tuple[Column, ...]
    say: Callable[[Rows, Scope], str]
    empty: str
    chart: Callable[[Rows, Scope], Spec] | None = None
    live: bool = False

    @property
    def by_day(self) -> bool:
        """Whether its rows are days, the latest last."""
        return self.columns[0].unit == "date"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure at the head of a report: a column of the one row of `Report.figures`.

    `before` is the column of the same figure in the period before; `note` says what it is part of.
    `better` is the direction that is good news, if one is.
    """

    column: Column
    before: str = ""
    better: Literal["up", "down", ""] = ""
    note: Callable[[Row], str] = lambda row: ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page: what it answers, its figures, its sections.

    `short` names the sections whose first sentence stands at its head, `live` the figures that need
    no refresh.
    """

    name: str
    title: str
    answers: str
    sections: tuple[Section, ...]
    figures: str = ""
    tiles: tuple[Tile, ...] = ()
    short: tuple[str, ...] = ()
    live: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The rows of one section as they were read.

    `cut` where there were more than `ROWS_MAX`; not `ready` where nobody made ready what it reads,
    so that no rows say nothing.
    """

    section: Section
    rows: Rows
    cut: bool = False
    ready: bool = True

    def top(self, most: int) -> Rows:
        """The rows to show where there is no place for more: of days the latest."""
        return self.rows[-most:] if self.section.by_day else self.rows[:most]

    def said(self, scope: Scope) -> str:
        """The sentence below it."""
        if not self.ready:
            return NOT_READY
        return self.section.say(self.rows, scope) if self.rows else self.section.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """A table that views read instead of the rows themselves, and when it was made anew."""

    name: str
    refreshed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A report with its rows: all of one snapshot."""

    report: Report
    scope: Scope
    figures: Row
    parts: tuple[Part, ...]
    tenants: tuple[str, ...]
    freshness: tuple[Freshness, ...]
    unready: tuple[str, ...] = ()
    """Of these tenants nothing was made ready; only what is live tells of them."""
    left_out: tuple[str, ...] = ()
    """Made-up tenants that nobody asked for."""

    @property
    def made_up(self) -> tuple[str, ...]:
        """The made-up tenants among those whose rows are in it."""
        return tuple(one for one in self.tenants if is_made_up(one))

    @property
    def as_of(self) -> datetime:
        """The time from which on something may be missing: the oldest of what is not live."""
        known = [one.refreshed_at for one in self.freshness if one.refreshed_at]
        return min(known, default=self.scope.at)

    @property
    def is_ready(self) -> bool:
        """Whether anything was ever made ready for it."""
        return bool(self.freshness)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell at all."""
        return self.is_ready and not any(part.rows for part in self.parts)
