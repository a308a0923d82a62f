"""Reports without a warehouse: rows of any section, made up from the units of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from satchel_warehouse.reports.report import Column, Freshness, Part, Read, Report, Scope, Section

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCOPE = Scope(since=date(2026, 11, 1), until=date(2026, 11, 30), at=AT)
HOSTILE = (
    "<script>window.hurt = 1</script>",
    '"><img src=x onerror="window.hurt = 1">',
    "</svg></style></script><h1>hurt</h1>",
    "=HYPERLINK(\"https://evil.example\";\"click\")",
    "-2+3+cmd|' /C calc'!A0",
    "\x1b[31mred\x1b[0m\x07",
    "\u202egnp.exe\u2066",
    "{{ 7 * 7 }} {% raw %}",
    "datum.value + 1",
    "url(https://evil.example/x.png)",
    "javascript:window.hurt = 1",
    "naïve · 記憶 · 🙂 · e\u0301",
    "a" * 300,
)  # fmt: skip
"""Names that somebody gave an agent, a host, a model or a space."""


def read_of(
    report: Report, names: Sequence[str], *, rows: int = 40, scope: Scope = SCOPE,
    fresh: bool = True,
) -> Read:  # fmt: skip
    """The report with made-up rows in which every text is one of `names`."""
    freshness = (Freshness(name="activity", refreshed_at=AT - timedelta(hours=1)),)
    parts = [part_of(section, names, rows, scope) for section in report.sections]
    if not fresh:
        parts = [
            one if one.section.live else Part(section=one.section, rows=(), ready=False)
            for one in parts
        ]
    return Read(
        report=report,
        scope=scope,
        figures=figures_of(report) if fresh else dict.fromkeys(report.live, 7),
        parts=tuple(parts),
        tenants=(names[0],) if rows else (),
        freshness=freshness if fresh else (),
    )


def figures_of(report: Report) -> dict[str, Any]:
    """A number under each name that the report's query has."""
    found = _Numbers()
    for tile in report.tiles:
        found[tile.column.name] = 0.5 if tile.column.unit == "share" else 1_234
        if tile.before:
            found[tile.before] = 1_000
    return found


class _Numbers(dict[str, Any]):
    """What a note asks for beside."""

    def __missing__(self, key: str) -> int:
        return 7


def part_of(section: Section, names: Sequence[str], rows: int, scope: Scope) -> Part:
    """`rows` rows of a section."""
    made = [
        {column.name: value_of(column, names, number, scope) for column in section.columns}
        for number in range(rows)
    ]
    return Part(section=section, rows=made)


def value_of(column: Column, names: Sequence[str], number: int, scope: Scope) -> Any:
    """A value of the column's unit; each row has another."""
    if column.unit in ("text", "id"):
        return names[(number + len(column.name)) % len(names)]
    if column.unit == "date":
        return scope.since + timedelta(days=number % scope.days)
    if column.unit == "time":
        return scope.at - timedelta(hours=number)
    if column.unit == "share":
        return number % 10 / 10
    return (number * 7919) % 997 if column.unit == "count" else number * 1.5
