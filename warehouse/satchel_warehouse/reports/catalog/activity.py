"""Report `activity`: what was written, by day, kind, agent and machine."""

from __future__ import annotations

from datetime import date

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    AGENT,
    BEFORE,
    DAY,
    HOST,
    KIND,
    MACHINE,
    NOT_TOLD,
    PERIOD,
    counted,
    named,
    with_machine_names,
)
from satchel_warehouse.reports.report import Column, Report, Rows, Scope, Section, Tile

_SUMS = """sum(created)::bigint AS created, sum(changed)::bigint AS changed,
               sum(deleted)::bigint AS deleted,
               sum(created + changed + deleted)::bigint AS writes"""
_COUNTS = (
    counted("created", "Created"),
    counted("changed", "Changed"),
    counted("deleted", "Deleted"),
    counted("writes", "Writes"),
)


def _by_day_said(rows: Rows, scope: Scope) -> str:
    days = words.totals(rows, "day", "writes")
    busiest, most = next(iter(days.items()))
    kind, _, part = words.top(rows, "kind", "writes")
    return (
        f"{words.plural(sum(days.values()), 'write')} on {len(days)} of {scope.days} days,"
        f" {words.share(part)} of them of kind {kind}; the busiest day was {words.day(busiest)}"
        f" with {words.count(most)}."
    )


BY_DAY = Section(
    name="writes_by_day",
    title="Writes by day",
    query=f"""
        SELECT day, kind, {_SUMS}
        FROM report.activity WHERE {PERIOD} GROUP BY day, kind ORDER BY day, kind""",
    columns=(DAY, KIND, *_COUNTS),
    say=_by_day_said,
    chart=lambda rows, scope: charts.by_day(rows, "writes", "kind", scope, "Writes"),
    empty="Nothing was written in this period.",
)


def _agents_said(rows: Rows, scope: Scope) -> str:
    known = [row for row in rows if row["agent"]]
    if not known:
        return "No agent is told of: all was written by people, or by SQL."
    name, most, _ = words.top(known, "agent", "writes")
    part = most / (words.total(rows, "writes") or 1)
    return (
        f"{words.plural(len(known), 'agent')} wrote; {name} most, with {words.count(most)} writes"
        f" ({words.share(part)})."
    )


BY_AGENT = Section(
    name="writes_by_agent",
    title="Writes by agent",
    query=f"""
        SELECT agent, count(DISTINCT machine) AS machines, {_SUMS}, max(day) AS last_day
        FROM report.activity WHERE {PERIOD} GROUP BY agent ORDER BY writes DESC, agent""",
    columns=(
        AGENT,
        counted("machines", "Machines"),
        *_COUNTS,
        Column(name="last_day", label="Last day", unit="date"),
    ),
    say=_agents_said,
    chart=lambda rows, scope: charts.bars(named(rows, "agent", NOT_TOLD), "agent", "writes"),
    empty="Nothing was written in this period.",
)


def _calendar_said(rows: Rows, scope: Scope) -> str:
    days: dict[str, set[date]] = {}
    for row in rows:
        if row["agent"]:
            days.setdefault(row["agent"], set()).add(row["day"])
    if not days:
        return "No agent is told of: all was written by people, or by SQL."
    name, at_work = max(days.items(), key=lambda item: (len(item[1]), item[0]))
    last_week = [one for one, on in days.items() if (scope.until - max(on)).days < 7]
    return words.sentences(
        f"{words.name_of(name)} was at work on {words.plural(len(at_work), 'day')}.",
        f"{words.plural(len(last_week), 'agent')} of {len(days)} wrote in the last 7 days.",
    )


CALENDAR = Section(
    name="agent_days",
    title="Who was at work when",
    query=f"""
        SELECT day, agent, sum(created + changed + deleted)::bigint AS writes
        FROM report.activity WHERE {PERIOD} GROUP BY day, agent ORDER BY day, agent""",
    columns=(DAY, AGENT, counted("writes", "Writes")),
    say=_calendar_said,
    chart=lambda rows, scope: charts.heat(named(rows, "agent", NOT_TOLD), "agent", "writes", scope),
    empty="Nothing was written in this period.",
)


def _machines_said(rows: Rows, scope: Scope) -> str:
    named = with_machine_names(rows)
    name, most, part = words.top(named, "name", "writes")
    return (
        f"{words.plural(len(rows), 'machine')} brought writes; {name} brought"
        f" {words.count(most)} of them ({words.share(part)})."
    )


BY_MACHINE = Section(
    name="writes_by_machine",
    title="Writes by machine",
    query=f"""
        SELECT machine, host, count(DISTINCT agent) AS agents, {_SUMS}
        FROM report.activity WHERE {PERIOD}
        GROUP BY machine, host ORDER BY writes DESC, host, machine""",
    columns=(MACHINE, HOST, counted("agents", "Agents"), *_COUNTS),
    say=_machines_said,
    chart=lambda rows, scope: charts.bars(with_machine_names(rows), "name", "writes"),
    empty="Nothing was written in this period.",
)

FIGURES = f"""
    SELECT now_.*, before_.* FROM (
        SELECT coalesce(sum(created + changed + deleted), 0)::bigint AS writes,
               coalesce(sum(created), 0)::bigint AS created,
               coalesce(sum(deleted), 0)::bigint AS deleted,
               count(DISTINCT agent) AS agents, count(DISTINCT machine) AS machines
        FROM report.activity WHERE {PERIOD}
    ) AS now_, (
        SELECT coalesce(sum(created + changed + deleted), 0)::bigint AS writes_before,
               coalesce(sum(created), 0)::bigint AS created_before,
               count(DISTINCT agent) AS agents_before
        FROM report.activity WHERE {BEFORE}
    ) AS before_"""

REPORT = Report(
    name="activity",
    title="Activity",
    answers="What was written, by day, kind, agent and machine.",
    figures=FIGURES,
    tiles=(
        Tile(
            column=counted("writes", "Writes"),
            before="writes_before",
        ),
        Tile(
            column=counted("created", "Rows created"),
            before="created_before",
        ),
        Tile(
            column=counted("agents", "Agents at work"),
            before="agents_before",
        ),
        Tile(column=counted("machines", "Machines that wrote")),
    ),
    sections=(BY_DAY, BY_AGENT, CALENDAR, BY_MACHINE),
)
