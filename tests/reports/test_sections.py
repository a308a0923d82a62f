"""Every section of the catalog: its sentence and its chart, over rows of all sorts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fix_reports import AT, HOSTILE, SCOPE, part_of
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_warehouse.reports import charts, drawing
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.reports.catalog.where import machine_name
from satchel_warehouse.reports.report import Column, Rows, Scope, Section

SECTIONS = {section.name: section for report in REPORTS.values() for section in report.sections}
MAY_LACK = {
    "lag_s", "last_sync", "oldest_unsent_s", "rows_behind", "syncs_7d", "failed_7d", "tokens_in",
    "tokens_out", "cost", "cycle_s_p90", "quarantined", "last_day",
}  # fmt: skip
"""Numbers that a view may not know; any text may be missing."""
MADE = {
    "unsent": {"oldest_unsent_s"},
    "reads_by_day": {"records"},
    "tasks_open": {"tasks"},
    "tasks_late": {"late_s"},
    "embedding_coverage": {"memories", "share"},
}
"""Columns that the section's own query keeps from being missing or 0."""
NAMES = (None, "ok", "late", "current", "stale", "memory", "", "others", *HOSTILE)


def value(chance: Random, section: Section, column: Column) -> Any:
    """What may stand in a column, the odd among it."""
    if column.name in MADE.get(section.name, ()):
        return chance.choice((1, 3, 10**9)) if column.unit == "count" else chance.uniform(0.001, 1)
    if column.name in MAY_LACK and chance.random() < 0.3:
        return None
    match column.unit:
        case "text" | "id":
            return chance.choice(NAMES if column.unit == "text" else NAMES[1:])
        case "date":
            return SCOPE.since + timedelta(days=chance.randrange(SCOPE.days))
        case "time":
            return SCOPE.at - timedelta(seconds=chance.randrange(10**6))
        case "share":
            return chance.choice((0.0, 1.0, chance.random()))
        case "count":
            return chance.choice((0, 0, 1, chance.randrange(1_000), 10**13))
        case _:
            return chance.choice((0.0, chance.random(), 1e9))


def rows_of(section: Section, seed: int) -> Rows:
    """One to twelve rows."""
    chance = Random(seed)
    return [
        {column.name: value(chance, section, column) for column in section.columns}
        for _ in range(chance.randint(1, 12))
    ]


@pytest.mark.parametrize("name", SECTIONS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_a_sentence_and_a_specification_come_of_any_rows(name: str, seed: int) -> None:
    section = SECTIONS[name]
    rows = rows_of(section, seed)
    said = section.say(rows, SCOPE)
    assert said.endswith("."), said
    assert "None" not in said
    if section.chart:
        json.dumps(section.chart(rows, SCOPE), allow_nan=False)


def test_names_are_unique_and_columns_are_named_once() -> None:
    for report in REPORTS.values():
        assert report.sections, report.name
        names = [section.name for section in report.sections]
        assert len(set(names)) == len(names)
        for section in report.sections:
            columns = [column.name for column in section.columns]
            assert len(set(columns)) == len(columns), section.name
    same = {}
    for report in REPORTS.values():
        for section in report.sections:
            assert same.setdefault(section.name, section) is section


@pytest.mark.parametrize("name", [name for name, one in SECTIONS.items() if one.chart])
def test_a_chart_is_drawn_with_any_names(name: str) -> None:
    """Well-formed, in colours of the page only, without anything to load or to run."""
    section = SECTIONS[name]
    part = part_of(section, HOSTILE, 60, SCOPE)
    assert section.chart is not None
    drawn = drawing.svg(section.chart(part.rows, SCOPE), "chart-1")
    root = ET.fromstring(drawn)
    kinds = {element.tag for element in root.iter()}
    assert kinds <= {"svg", "g", "path", "rect", "line", "text", "defs", "clipPath", "tspan"}
    painted = {element.get(name) for element in root.iter() for name in ("fill", "stroke")}
    assert {one for one in painted if one} <= {
        "none", "transparent", *(f"var(--{name})" for name in ("ink", "soft", "grid")),
        *charts.PALETTE, *charts.MEANT.values(),
    }  # fmt: skip
    assert not any(
        name.startswith("on") or "href" in name for e in root.iter() for name in e.attrib
    )
    assert all(one.get("id", "chart-1").startswith("chart-1") for one in root.iter())
    assert max(len(one.text or "") for one in root.iter("text")) < 60
    width, height = map(float, root.get("viewBox", "").split()[2:])
    assert width < 800
    assert height < 700


def test_what_is_small_is_folded_and_the_sum_stays() -> None:
    rows = [{"who": f"agent-{n:02}", "n": 100 - n, "day": SCOPE.since} for n in range(40)]
    spec = charts.bars(rows, "who", "n")
    shown = spec["layer"][0]["data"]["values"]
    assert len(shown) == charts.BARS_MAX
    assert shown[-1]["category"] == charts.OTHERS
    assert sum(one["y"] for one in shown) == sum(row["n"] for row in rows)
    stacked = charts.by_day(rows, "n", "who", SCOPE, "Writes")
    assert len(stacked["encoding"]["color"]["scale"]["domain"]) == charts.SERIES_MAX
    assert sum(one["y"] for one in stacked["data"]["values"]) == sum(row["n"] for row in rows)


@pytest.mark.parametrize(
    ("days", "bars", "title"),
    [(1, 1, "a day"), (92, 92, "a day"), (93, 14, "a week"), (3_660, 523, "a week")],
)
def test_a_long_period_is_drawn_in_weeks(days: int, bars: int, title: str) -> None:
    scope = Scope(since=date(2020, 1, 1), until=date(2020, 1, 1) + timedelta(days=days - 1), at=AT)
    rows = [{"day": scope.since + timedelta(days=n), "k": "a", "n": 1} for n in range(days)]
    spec = charts.by_day(rows, "n", "k", scope, "Writes")
    axis = spec["encoding"]["x"]
    assert len(axis["scale"]["domain"]) == bars
    assert len(axis["axis"]["values"]) <= charts.TICKS_MAX + 1
    assert spec["encoding"]["y"]["axis"]["title"].endswith(title)
    assert sum(one["y"] for one in spec["data"]["values"]) == days
    drawing.svg(spec, "x")


def test_a_colour_means_the_same_everywhere() -> None:
    order = charts._colours(["ok", "failing", "desk", "others"])["scale"]
    colours = dict(zip(order["domain"], order["range"], strict=True))
    assert (colours["ok"], colours["failing"]) == ("var(--good)", "var(--bad)")
    assert colours["others"] == "var(--dim)"
    assert colours["desk"] == "var(--c1)"
    assert len(set(colours.values())) == 4


def test_the_library_fetches_nothing() -> None:
    """Nobody can give it a URL; were there one, it would be refused."""
    for section in SECTIONS.values():
        if section.chart:
            spec = section.chart(part_of(section, HOSTILE, 9, SCOPE).rows, SCOPE)
            assert '"url"' not in json.dumps(spec)
    with pytest.raises(ValueError, match=re.escape("not allowed: https://example.com/x.csv")):
        drawing.svg({"data": {"url": "https://example.com/x.csv"}, "mark": "bar"}, "x")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs the system package strace")
def test_drawing_opens_no_connection(tmp_path: Path) -> None:
    """By what the kernel is asked for: a pair of sockets with which the library wakes itself."""
    program = """
from fix_reports import HOSTILE, SCOPE, part_of
from satchel_warehouse.reports import drawing
from satchel_warehouse.reports.catalog.activity import BY_DAY
print(drawing.svg(BY_DAY.chart(part_of(BY_DAY, HOSTILE, 9, SCOPE).rows, SCOPE), "x")[:4])
"""
    log, path = tmp_path / "calls", os.pathsep.join(sys.path)
    command = [
        "strace",
        "-f",
        "-o",
        str(log),
        "-e",
        "trace=%network",
        sys.executable,
        "-c",
        program,
    ]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"<svg\n"
    calls = [line.split(None, 1)[1] for line in log.read_text().splitlines() if "(" in line]
    assert [call for call in calls if not call.startswith("socketpair(AF_UNIX")] == []


def test_machines_of_one_name_are_told_apart() -> None:
    assert machine_name({"host": "desk", "machine": "a" * 24 + "00000001"}) == "desk · 00000001"
    assert machine_name({"host": None, "machine": None}) == "(none) · "


def test_the_page_of_docs_names_every_report() -> None:
    text = (Path(__file__).parents[2] / "docs" / "REPORTS.md").read_text("utf-8")
    told = re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", text.partition("\n## ")[0], re.M)
    assert told == [
        (name, report.answers[0].lower() + report.answers[1:].removesuffix("."))
        for name, report in REPORTS.items()
    ]
