"""Charts as Vega-Lite specifications with their data inside; every colour is a variable of CSS.

So one drawing serves light, dark and paper. Labels are names that strangers chose: they are data
here, never an expression, a field's name or a URL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from satchel_warehouse.reports import words
from satchel_warehouse.reports.report import Row, Rows, Scope, Spec, Unit

WIDTH = 660
HEIGHT = 210
BAR_STEP = 26
LEGEND_LABEL_PX_MAX = 130
SERIES_MAX = 7
BARS_MAX = 12
DAYS_SHOWN_MAX = 92
"""A longer period is drawn in weeks."""
TICKS_MAX = 9
OTHERS = "others"
PALETTE = tuple(f"var(--c{number})" for number in range(1, SERIES_MAX + 1))
MEANT = {
    **dict.fromkeys(("current", "created", "alive", "update", "1-7d"), "var(--c1)"),
    **dict.fromkeys(("supersede",), "var(--c2)"),
    **dict.fromkeys(("expired",), "var(--c4)"),
    **dict.fromkeys(("future", "<1d"), "var(--c7)"),
    **dict.fromkeys(("ok", "done", "embedded", "restore", "reopen"), "var(--good)"),
    **dict.fromkeys(("late", "stale", "outdated", "7-30d", "retract", "deleted"), "var(--warn)"),
    **dict.fromkeys(("failing", "failed", "retracted", "erased", ">30d", "delete"), "var(--bad)"),
    **dict.fromkeys(("superseded", "cancelled", "missing", OTHERS), "var(--dim)"),
}
"""Names whose colour says what they mean, wherever they stand."""
ALIKE = {"var(--warn)": "var(--c2)", "var(--good)": "var(--c3)", "var(--bad)": "var(--c5)"}
"""A colour that means something -> the one that nobody should have to tell it from."""
_ROOM = {"left": 26, "right": 30, "top": 5, "bottom": 5}
"""For names in a font that is wider than the one that was measured."""
_FONT = "Helvetica, Arial, sans-serif"
_TEXT = {"labelColor": "var(--soft)", "titleColor": "var(--soft)", "labelFontSize": 12}
CONFIG: Spec = {
    "aria": False,  # the page describes a chart in words, and its rows are in the table below
    "background": None,
    "font": _FONT,
    "view": {"stroke": None},
    "bar": {"color": PALETTE[0]},
    "line": {"strokeWidth": 2.2, "strokeCap": "round", "strokeJoin": "round"},
    "axis": {
        **_TEXT, "titleFontSize": 12, "titleFontWeight": "normal", "domain": False,
        "ticks": False, "gridColor": "var(--grid)", "labelPadding": 6, "labelLimit": 170,
    },
    "legend": {
        **_TEXT, "orient": "top", "title": None, "symbolType": "square", "symbolSize": 90,
        "labelLimit": LEGEND_LABEL_PX_MAX, "columnPadding": 14, "rowPadding": 4, "offset": 10,
    },
    "range": {"category": list(PALETTE)},
}  # fmt: skip


def by_day(
    rows: Rows, value: str, series: str, scope: Scope, title: str, *,
    order: Sequence[str] = (), down: Sequence[str] = (),
) -> Spec:  # fmt: skip
    """Bars of a day each, or of a week where there are many, stacked by `series`.

    The series come in `order`, else the largest first; those of `down` hang below the axis.
    """
    folded = _folded(rows, series, value)
    present = words.totals(folded, series, value)
    names = [name for name in order if name in present] or list(present)
    unit, starts = _starts(scope)
    values = [
        {"x": day.isoformat(), "series": name, "y": -sum_ if name in down else sum_,
         "order": names.index(name)}
        for (day, name), sum_ in _sums(folded, series, value, scope, unit).items()
    ]  # fmt: skip
    return _spec(
        values,
        mark={"type": "bar", "width": {"band": 0.82}},
        encoding={
            "x": _time_axis(starts),
            "y": _count_axis(title + (" a week" if unit == 7 else " a day")),
            "color": _colours(names),
            "order": {"field": "order", "type": "quantitative"},
        },
    )


def lines(rows: Rows, values: Mapping[str, str], scope: Scope, unit: Unit, title: str) -> Spec:
    """A line of each of `values` (column -> label) over the days; a day without one has a gap.

    Seconds are drawn in the largest of minutes, hours and days that fits.
    """
    size, name = _scale(rows, tuple(values), unit)
    points = [
        {"x": row["day"].isoformat(), "series": label, "y": row[column] / size}
        for row in rows
        for column, label in values.items()
        if row[column] is not None
    ]
    every = [scope.since + timedelta(days=number) for number in range(scope.days)]
    shape = {"type": "line", "point": {"filled": True, "size": 34}}
    return _spec(
        points,
        mark=shape,
        encoding={
            "x": _time_axis(every, kind="point"),
            "y": _count_axis(f"{title}, {name}" if name else title, share=unit == "share"),
            "color": _colours(list(values.values())),
        },
    )


def bars(
    rows: Rows, category: str, value: str, *, unit: Unit = "count", series: str = "",
    order: Sequence[str] = (), with_others: bool = True,
) -> Spec:  # fmt: skip
    """Lying bars, the longest first, each with its sum behind it; in colours of `series`, if any.

    `order` is that of the series. What is no sum, as an age, has no bar `others` of the rest.
    """
    folded = _folded(rows, category, value, BARS_MAX)
    if not with_others:
        folded = [row for row in folded if row[category] != OTHERS]
    sums = words.totals(folded, category, value)
    names = _last(sums)
    parts = _folded(folded, series, value) if series else [
        {**row, series: OTHERS if row[category] == OTHERS else ""} for row in folded
    ]  # fmt: skip
    present = list(words.totals(parts, series, value))
    present.sort(key=lambda one: order.index(one) if one in order else len(order))
    lengths: dict[tuple[str, str], float] = {}
    for row in parts:
        key = (row[category], row[series])
        lengths[key] = lengths.get(key, 0) + (row[value] or 0)
    place = {"field": "category", "type": "nominal", "sort": names, "axis": {"title": None}}
    length = {"field": "y", "type": "quantitative", "axis": None, "stack": "zero"}
    bar: Spec = {
        "data": {"values": [
            {"category": name, "series": one, "y": y, "order": present.index(one)}
            for (name, one), y in lengths.items()
        ]},
        "mark": {"type": "bar", "height": {"band": 0.68}},
        "encoding": {
            "y": place, "x": length,
            "color": _colours(present) | ({} if series else {"legend": None}),
            "order": {"field": "order", "type": "quantitative"},
        },
    }  # fmt: skip
    text: Spec = {
        "data": {"values": [
            {"category": name, "y": sum_, "text": words.figure(sum_, unit)}
            for name, sum_ in sums.items()
        ]},
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 12, "color": "var(--ink)"},
        "encoding": {"y": place, "x": length | {"stack": None}, "text": {"field": "text"}},
    }  # fmt: skip
    return {
        "config": CONFIG,
        "padding": _ROOM,
        "width": WIDTH - 190,
        "height": {"step": BAR_STEP},
        "layer": [bar, text],
    }


def heat(rows: Rows, category: str, value: str, scope: Scope) -> Spec:
    """A field for each of the largest categories and day (or week), the darker the more."""
    folded = [
        row for row in _folded(rows, category, value, BARS_MAX + 1) if row[category] != OTHERS
    ]
    unit, starts = _starts(scope)
    sums = _sums(folded, category, value, scope, unit)
    names = list(words.totals(folded, category, value))
    values = [{"x": day.isoformat(), "y": name, "n": n} for (day, name), n in sums.items() if n]
    spec = _spec(
        values,
        mark={"type": "rect", "fill": PALETTE[0], "cornerRadius": 1},
        encoding={
            "x": _time_axis(starts) | {"scale": {"domain": _iso(starts), "paddingInner": 0.08}},
            "y": {
                "field": "y", "type": "nominal", "sort": names, "axis": {"title": None},
                "scale": {"domain": names, "paddingInner": 0.12},
            },
            "fillOpacity": {
                "field": "n", "type": "quantitative", "legend": None,
                "scale": {"type": "sqrt", "zero": True, "range": [0.08, 1]},
            },
        },
    )  # fmt: skip
    return spec | {"padding": _ROOM, "width": WIDTH - 150, "height": {"step": BAR_STEP}}


def _spec(values: list[dict[str, Any]], *, mark: Spec, encoding: Spec) -> Spec:
    return {
        "config": CONFIG | {"legend": CONFIG["legend"] | {"offset": 30}},  # above the axis's title
        "data": {"values": values},
        "width": WIDTH - 50,
        "height": HEIGHT,
        "mark": mark,
        "encoding": encoding,
    }


def _folded(rows: Rows, column: str, value: str, most: int = SERIES_MAX) -> list[Row]:
    """The rows with names for a legend: beyond `most` of them the smallest are one, `others`."""
    named = [{**row, column: words.name_of(row[column])} for row in rows]
    sums = words.totals(named, column, value)
    if len(sums) <= most:
        return list(named)
    kept = set(list(sums)[: most - 1])
    return [row if row[column] in kept else row | {column: OTHERS} for row in named]


def _last(names: Mapping[str, float]) -> list[str]:
    """In this order, but the rest at the end."""
    return sorted(names, key=lambda name: name == OTHERS)


def _colours(names: Sequence[str]) -> Spec:
    """A colour for each name, in this order: one that means something, else the next."""
    ordered = [*(name for name in names if name != OTHERS), *([OTHERS] if OTHERS in names else [])]
    taken = {MEANT[name] for name in ordered if name in MEANT}
    taken |= {ALIKE[colour] for colour in taken if colour in ALIKE}
    spare = (colour for colour in PALETTE * 2 if colour not in taken)
    range_ = [MEANT.get(name) or next(spare) for name in ordered]
    scale = {"domain": ordered, "range": range_}
    legend = {"columns": _legend_columns(ordered)} if len(ordered) > 1 else None
    return {"field": "series", "type": "nominal", "scale": scale, "legend": legend}


def _legend_columns(names: Sequence[str]) -> int:
    """As many as fit beside each other; all are as wide as the widest."""
    widest_px = min(max(map(len, names)) * 7 + 6, LEGEND_LABEL_PX_MAX) + 32
    return max(1, min(len(names), (WIDTH - 50) // widest_px))


def _starts(scope: Scope) -> tuple[int, list[date]]:
    """Days in a bar, and the first day of each bar."""
    unit = 1 if scope.days <= DAYS_SHOWN_MAX else 7
    return unit, [scope.since + timedelta(days=n) for n in range(0, scope.days, unit)]


def _sums(
    rows: Rows, series: str, value: str, scope: Scope, unit: int
) -> dict[tuple[date, str], float]:
    """(the first day of a bar, the name) -> the sum."""
    sums: dict[tuple[date, str], float] = {}
    for row in rows:
        start = row["day"] - timedelta(days=(row["day"] - scope.since).days % unit)
        key = (start, row[series])
        sums[key] = sums.get(key, 0) + (row[value] or 0)
    return sums


def _iso(days: Sequence[date]) -> list[str]:
    return [day.isoformat() for day in days]


def _time_axis(days: Sequence[date], kind: str = "band") -> Spec:
    """Days as they come, none left out; few of them have a label."""
    every = _iso(days)
    step = -(-len(every) // TICKS_MAX)
    several_years = days[0].year != days[-1].year
    form = "%-d %b %Y" if several_years and len(every) > 2 * TICKS_MAX else "%-d %b"
    return {
        "field": "x",
        "type": "ordinal",
        "scale": {"type": kind, "domain": every},
        "axis": {
            "title": None, "values": every[::step], "labelAngle": 0, "labelFlush": False,
            "labelExpr": f"utcFormat(toDate(datum.value), '{form}')",
        },
    }  # fmt: skip


def _count_axis(title: str, *, share: bool = False) -> Spec:
    form: Spec = {"format": ".0%"} if share else {
        "labelExpr": "format(abs(datum.value), '~s')", "tickMinStep": 1,
    }  # fmt: skip
    return {
        "field": "y",
        "type": "quantitative",
        "axis": {
            "title": title, "titleAngle": 0, "titleAlign": "left", "titleAnchor": "end",
            "titleX": -6, "titleY": -14, "tickCount": 4, **form,
        },
    }  # fmt: skip


def _scale(rows: Rows, columns: Sequence[str], unit: Unit) -> tuple[float, str]:
    """What values are divided by, and the name of that unit."""
    if unit != "seconds":
        return 1.0, ""
    most = max((row[one] for row in rows for one in columns if row[one] is not None), default=0.0)
    sizes = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))
    return next(((size, name) for size, name in sizes if most >= 2 * size), (1.0, "seconds"))
