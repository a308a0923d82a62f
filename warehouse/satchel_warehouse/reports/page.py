"""A report as one HTML page that needs nothing else: no script, font or picture from anywhere."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files

from satchel_warehouse.reports import words
from satchel_warehouse.reports.report import Column, Part, Read, Row, Spec, Tile
from satchel_warehouse.views.fleet import LATE_HOURS
from satchel_warehouse.views.knowledge import STALE_DAYS

SHOWN_MAX = 200
"""Rows of a table on a page; the other formats have them all."""
OPEN_MAX = 12
"""A table that stands below a chart is shut where it is longer."""
STALE_AFTER = timedelta(hours=LATE_HOURS)
"""As of a machine: from then on the page warns that what it shows was made ready long ago."""
NUMBERS = ("count", "number", "seconds", "share", "money")
Draw = Callable[[Spec, str], str]
"""A chart as SVG, with ids that begin with the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A section as the template has it; `svg` is markup, all else is text that it escapes."""

    name: str
    title: str
    said: list[str]
    """A sentence in pieces: every second one is something to type."""
    is_empty: bool
    svg: str
    columns: tuple[Column, ...]
    cells: list[list[Cell]]
    left_out: int
    latest: bool
    cut: bool
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell: what is read, and by what it is sorted."""

    text: str
    sort: str
    unit: str
    number: bool
    mark: str = ""
    whole: str = ""
    """All of what is shown in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A tile: its value, how it changed, what it is part of."""

    label: str
    value: str
    change: str
    good: str
    note: str


def page(read: Read, draw: Draw, nonce: bytes) -> str:
    """The report as HTML. `nonce` is random: only the style and the script that bear it may run."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("satchel_warehouse.reports", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        read=read,
        scope=read.scope,
        words=words,
        figures=figures(read),
        short=_short(read),
        sections=[_shown(part, read, draw) for part in read.parts],
        stale=read.scope.at - read.as_of > STALE_AFTER,
        age=words.span((read.scope.at - read.as_of).total_seconds()),
        nonce=base64.b64encode(nonce).decode(),
        style=_text("page.css"),
        script=_text("page.js"),
        numbers=NUMBERS,
        stale_days=STALE_DAYS,
    )


def _short(read: Read) -> list[tuple[str, str]]:
    """(the section, its first sentence) of what stands at the head."""
    known = {part.section.name: part for part in read.parts if part.rows}
    told = [known[name] for name in read.report.short if name in known]
    return [(part.section.name, _first(part.said(read.scope))) for part in told]


def _first(said: str) -> str:
    return said.split(". ")[0].removesuffix(".") + "."


def figures(read: Read) -> list[Figure]:
    """The tiles of a report, filled in."""
    return [_figure(tile, read) for tile in read.report.tiles]


def _text(name: str) -> str:
    return files("satchel_warehouse.reports").joinpath("template", name).read_text("utf-8")


def _figure(tile: Tile, read: Read) -> Figure:
    column, row = tile.column, read.figures
    value = row.get(column.name)
    ready = read.is_ready or column.name in read.report.live
    change, good = _change(tile, row)
    return Figure(
        label=column.label,
        value=words.figure(value, column.unit),
        change=change,
        good=good,
        note=_note(tile, read, change) if ready else "not made ready",
    )


def _note(tile: Tile, read: Read, change: str) -> str:
    """What the tile says beside its value; else what its change is against."""
    note: Callable[[Row], str] = tile.note
    days = read.scope.days
    before = f"against the {days} days before" if days > 1 else "against the day before"
    return note(read.figures) or (before if change else "")


def _change(tile: Tile, row: Row) -> tuple[str, str]:
    """`▲ 12%` against the period before, and whether that is good."""
    now, before = row.get(tile.column.name), row.get(tile.before) if tile.before else None
    if not before or now is None:
        return "", ""
    change = now / before - 1
    if abs(change) < 0.005:
        return "= unchanged", ""
    arrow, size = ("▲", change) if change > 0 else ("▼", -change)
    told = f"{arrow} {words.share(size)}" if size <= 9.99 else f"{arrow} ×{now / before:.0f}"
    good = {"up": change > 0, "down": change < 0}.get(tile.better)
    return told, "" if good is None else ("good" if good else "bad")


def _shown(part: Part, read: Read, draw: Draw) -> Shown:
    section = part.section
    chart = section.chart if part.rows else None
    drawn = draw(chart(part.rows, read.scope), section.name) if chart else ""
    return Shown(
        name=section.name,
        title=section.title,
        said=part.said(read.scope).split("`"),
        is_empty=not part.rows,
        svg=drawn,
        columns=section.columns,
        cells=[[_cell(row, column) for column in section.columns] for row in part.top(SHOWN_MAX)],
        left_out=len(part.rows) - SHOWN_MAX,
        latest=section.by_day,
        cut=part.cut,
        open=not drawn or len(part.rows) <= OPEN_MAX,
    )


def _cell(row: Row, column: Column) -> Cell:
    value = row[column.name]
    text = words.shown(value, column.unit)
    whole = "" if value is None else words.visible(str(value))
    return Cell(
        text=text,
        unit=column.unit,
        sort=whole,
        number=column.unit in NUMBERS,
        mark=MARKS.get(value, "") if column.name in ("status", "state") else "",
        whole=whole if column.unit == "id" and text != whole else "",
    )


MARKS: Mapping[str, str] = {
    "ok": "good", "completed": "good", "late": "warn", "stale": "warn", "blocked": "warn",
    "failing": "bad", "failed": "bad", "never": "dim", "revoked": "dim",
}  # fmt: skip
"""Words of a status or a state -> the class of their badge."""
