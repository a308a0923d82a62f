"""Report `conflicts`: edits that lost to another, where, and how often."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.machines import QUARANTINE
from satchel_warehouse.reports.catalog.where import (
    BEFORE,
    DAY,
    HOST,
    KIND,
    MACHINE,
    PERIOD,
    counted,
    with_machine_names,
)
from satchel_warehouse.reports.report import Column, Report, Row, Rows, Scope, Section, Tile

PATH = Column(name="path", label="Found on")


def _by_day_said(rows: Rows, scope: Scope) -> str:
    days = words.totals(rows, "day", "conflicts")
    kind, _, part = words.top(rows, "kind", "conflicts")
    worst, most = next(iter(days.items()))
    return (
        f"{words.plural(sum(days.values()), 'edit')} lost to a newer one that had not seen it,"
        f" {words.share(part)} of kind {kind}; most on {words.day(worst)} ({words.count(most)})."
        " Each is kept: `satchel sync conflicts` lists them, and restores one."
    )


BY_DAY = Section(
    name="conflicts_by_day",
    title="Conflicts by day",
    query=f"""
        SELECT day, kind, sum(conflicts)::bigint AS conflicts
        FROM report.conflicts WHERE {PERIOD} AND conflicts > 0
        GROUP BY day, kind ORDER BY day, kind""",
    columns=(DAY, KIND, counted("conflicts", "Conflicts")),
    say=_by_day_said,
    chart=lambda rows, scope: charts.by_day(rows, "conflicts", "kind", scope, "Conflicts"),
    empty="No edit was lost to another in this period.",
)


def _machines_said(rows: Rows, scope: Scope) -> str:
    name, most, part = words.top(with_machine_names(rows), "name", "conflicts")
    return (
        f"{words.plural(len(rows), 'machine')} met conflicts; {name} met {words.count(most)}"
        f" ({words.share(part)}). A machine that syncs more often meets fewer."
    )


BY_MACHINE = Section(
    name="conflicts_by_machine",
    title="Conflicts by machine",
    query=f"""
        SELECT machine, host, sum(conflicts)::bigint AS conflicts, count(DISTINCT day) AS days
        FROM report.conflicts WHERE {PERIOD} AND conflicts > 0
        GROUP BY machine, host ORDER BY conflicts DESC, host, machine""",
    columns=(MACHINE, HOST, counted("conflicts", "Conflicts"), counted("days", "Days")),
    say=_machines_said,
    chart=lambda rows, scope: charts.bars(with_machine_names(rows), "name", "conflicts"),
    empty="No edit was lost to another in this period.",
)


def _kinds_said(rows: Rows, scope: Scope) -> str:
    kind, path = words.name_of(rows[0]["kind"]), words.name_of(rows[0]["path"])
    return (
        f"Most often a conflict was one of kind {kind}, found on {path}:"
        f" {words.count(rows[0]['conflicts'])}."
    )


BY_KIND = Section(
    name="conflicts_by_kind",
    title="Conflicts by kind and where they were found",
    query=f"""
        SELECT kind, path, sum(conflicts)::bigint AS conflicts, count(DISTINCT machine) AS machines
        FROM report.conflicts WHERE {PERIOD} AND conflicts > 0
        GROUP BY kind, path ORDER BY conflicts DESC, kind, path""",
    columns=(KIND, PATH, counted("conflicts", "Conflicts"), counted("machines", "Machines")),
    say=_kinds_said,
    empty="No edit was lost to another in this period.",
)


def per_thousand(row: Row) -> str:
    """How many of a thousand writes lost, of a row with `conflicts` and `writes`."""
    if not row["writes"]:
        return "nothing was written"
    return f"{words.number(1_000 * row['conflicts'] / row['writes'])} of 1,000 writes"


FIGURES = f"""
    SELECT (SELECT coalesce(sum(conflicts), 0)::bigint FROM report.conflicts WHERE {PERIOD})
               AS conflicts,
           (SELECT coalesce(sum(conflicts), 0)::bigint FROM report.conflicts WHERE {BEFORE})
               AS conflicts_before,
           (SELECT coalesce(sum(created + changed + deleted), 0)::bigint FROM report.activity
            WHERE {PERIOD}) AS writes,
           (SELECT count(DISTINCT machine) FROM report.conflicts WHERE {PERIOD} AND conflicts > 0)
               AS machines"""

REPORT = Report(
    name="conflicts",
    title="Conflicts",
    answers="Edits that lost to another: how often, of what, on which machines.",
    figures=FIGURES,
    tiles=(
        Tile(
            column=counted("conflicts", "Conflicts"),
            before="conflicts_before",
            better="down",
        ),
        Tile(column=counted("writes", "Writes"), note=per_thousand),
        Tile(column=counted("machines", "Machines that met one")),
    ),
    sections=(BY_DAY, BY_MACHINE, BY_KIND, QUARANTINE),
)
