"""Report `reads`: who asks the memory for what, and how much of it can be found by meaning."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    BEFORE,
    DAY,
    HERE,
    OPERATOR,
    PERIOD,
    counted,
    named,
)
from satchel_warehouse.reports.report import Column, Report, Rows, Scope, Section, Spec, Tile

ACTOR, TOOL = Column(name="actor", label="Who"), Column(name="tool", label="Tool")
_COUNTS = (counted("records", "Calls"), counted("rows_given", "Rows given"))
_SUMS = "sum(records)::bigint AS records, sum(rows_given)::bigint AS rows_given"
NO_READS = "No read was recorded here: machines bring their chain of reads where audit is on."


def _by_day_said(rows: Rows, scope: Scope) -> str:
    tool, _, part = words.top(rows, "tool", "records")
    calls, given = words.total(rows, "records"), words.total(rows, "rows_given")
    return (
        f"{words.plural(calls, 'call')} gave {words.plural(given, 'row')},"
        f" {words.number(given / calls)} a call; {words.share(part)} were of {tool}."
    )


BY_DAY = Section(
    name="reads_by_day",
    title="Reads by day and tool",
    query=f"""
        SELECT day, tool, {_SUMS}
        FROM report.reads WHERE {PERIOD} GROUP BY day, tool ORDER BY day, tool""",
    columns=(DAY, TOOL, *_COUNTS),
    say=_by_day_said,
    chart=lambda rows, scope: charts.by_day(rows, "records", "tool", scope, "Calls"),
    empty=NO_READS,
)


def _actors_said(rows: Rows, scope: Scope) -> str:
    name, most, part = words.top(named(rows, "actor", OPERATOR), "actor", "records")
    return (
        f"{words.plural(len(rows), 'caller')} read; {name} made {words.plural(most, 'call')}"
        f" ({words.share(part)})."
    )


BY_ACTOR = Section(
    name="reads_by_actor",
    title="Who reads",
    query=f"""
        SELECT actor, {_SUMS}, count(DISTINCT machine) AS machines, max(day) AS last_day
        FROM report.reads WHERE {PERIOD} GROUP BY actor ORDER BY records DESC, actor""",
    columns=(
        ACTOR,
        *_COUNTS,
        counted("machines", "Machines"),
        Column(name="last_day", label="Last day", unit="date"),
    ),
    say=_actors_said,
    chart=lambda rows, scope: charts.bars(named(rows, "actor", OPERATOR), "actor", "records"),
    empty=NO_READS,
)


def _coverage_said(rows: Rows, scope: Scope) -> str:
    best = rows[0]
    lacking = best["missing"] + best["outdated"]
    told = (
        f"{words.name_of(best['model'])} covers {words.share(best['share'])} of"
        f" {words.plural(best['memories'], 'memory', 'memories')}"
    )
    if not lacking:
        return told + ": all of them can be found by meaning."
    return (
        f"{told}; {words.count(best['missing'])} have no vector and {words.count(best['outdated'])}"
        " one of an earlier text, and are found by their words only."
    )


def _coverage_chart(rows: Rows, scope: Scope) -> Spec:
    long = [
        {"model": row["model"], "what": what, "memories": row[what]}
        for row in rows
        for what in ("embedded", "outdated", "missing")
    ]
    return charts.bars(
        long, "model", "memories", series="what", order=("embedded", "outdated", "missing")
    )


COVERAGE = Section(
    name="embedding_coverage",
    title="What can be found by meaning",
    query=f"""
        SELECT model, sum(memories)::bigint AS memories, sum(embedded)::bigint AS embedded,
               sum(outdated)::bigint AS outdated, sum(missing)::bigint AS missing,
               (sum(embedded) / nullif(sum(memories), 0))::double precision AS share
        FROM report.embedding_coverage WHERE {HERE} AND memories > 0
        GROUP BY model ORDER BY share DESC NULLS LAST, model""",
    columns=(
        Column(name="model", label="Model"),
        counted("memories", "Memories"),
        counted("embedded", "With a vector"),
        counted("outdated", "Of an earlier text"),
        counted("missing", "Without"),
        Column(name="share", label="Covered", unit="share"),
    ),
    say=_coverage_said,
    chart=_coverage_chart,
    empty="No memory has a vector here; all are found by their words.",
)

FIGURES = f"""
    SELECT now_.*, before_.*, cover.* FROM (
        SELECT coalesce(sum(records), 0)::bigint AS records,
               coalesce(sum(rows_given), 0)::bigint AS rows_given, count(DISTINCT actor) AS actors
        FROM report.reads WHERE {PERIOD}
    ) AS now_, (
        SELECT coalesce(sum(records), 0)::bigint AS records_before
        FROM report.reads WHERE {BEFORE}
    ) AS before_, (
        SELECT max(share) AS share FROM (
            SELECT (sum(embedded) / nullif(sum(memories), 0))::double precision AS share
            FROM report.embedding_coverage WHERE {HERE} GROUP BY model
        ) AS of_model
    ) AS cover"""

REPORT = Report(
    name="reads",
    title="Search and reads",
    answers="Who asks the memory for what, and how much of it can be found by meaning.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("records", "Calls that read"), before="records_before"),
        Tile(column=counted("rows_given", "Rows given")),
        Tile(column=counted("actors", "Callers")),
        Tile(column=Column(name="share", label="Found by meaning", unit="share"),
             note=lambda row: "of the memories, by the best covered model"),
    ),
    sections=(BY_DAY, BY_ACTOR, COVERAGE),
)  # fmt: skip
