"""Report `lifecycle`: what the warehouse holds, what was deleted, what was erased for good."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    BEFORE,
    DAY,
    HERE,
    HOST,
    KIND,
    MACHINE,
    PERIOD,
    counted,
)
from satchel_warehouse.reports.report import Report, Rows, Scope, Section, Spec, Tile

LIVES = ("alive", "deleted", "erased")


def _totals_said(rows: Rows, scope: Scope) -> str:
    sums = {name: words.total(rows, name) for name in LIVES}
    every = sum(sums.values())
    kind, most, _ = words.top(rows, "kind", "alive")
    return (
        f"{words.plural(sums['alive'], 'row is', 'rows are')} alive, most of kind {kind}"
        f" ({words.count(most)});"
        f" {words.share((every - sums['alive']) / every if every else 0)} of all are deleted or"
        " erased, and stay as marks that keep them from coming back."
    )


def _totals_chart(rows: Rows, scope: Scope) -> Spec:
    long = [
        {"kind": row["kind"], "life": name, "rows": row[name]} for row in rows for name in LIVES
    ]
    return charts.bars(long, "kind", "rows", series="life", order=LIVES)


TOTALS = Section(
    name="totals",
    title="What the warehouse holds",
    query=f"""
        SELECT kind, sum(alive)::bigint AS alive, sum(deleted)::bigint AS deleted,
               sum(erased)::bigint AS erased
        FROM report.totals WHERE {HERE} GROUP BY kind
        HAVING sum(alive + deleted + erased) > 0 ORDER BY alive DESC, kind""",
    columns=(
        KIND,
        counted("alive", "Alive"),
        counted("deleted", "Deleted"),
        counted("erased", "Erased"),
    ),
    say=_totals_said,
    chart=_totals_chart,
    empty="The warehouse holds no row yet.",
)


def _by_day_said(rows: Rows, scope: Scope) -> str:
    deleted, erased = words.total(rows, "deleted"), words.total(rows, "erased")
    kind, _, part = words.top(rows, "kind", "deleted") if deleted else ("", 0.0, 0.0)
    return words.sentences(
        f"{words.plural(deleted, 'row')} deleted and {words.count(erased)} erased.",
        f"{words.share(part)} of the deleted were of kind {kind}." if deleted else "",
        "What was erased is empty on the warehouse and on every machine that has synced since."
        if erased
        else "",
    )


def _by_day_chart(rows: Rows, scope: Scope) -> Spec:
    long = [
        {"day": row["day"], "what": what, "rows": row[what]}
        for row in rows
        for what in ("deleted", "erased")
        if row[what]
    ]
    return charts.by_day(long, "rows", "what", scope, "Rows")


BY_DAY = Section(
    name="deletions_by_day",
    title="Deleted and erased by day",
    query=f"""
        SELECT day, kind, sum(deleted)::bigint AS deleted, sum(erased)::bigint AS erased
        FROM report.deletions WHERE {PERIOD}
        GROUP BY day, kind HAVING sum(deleted + erased) > 0 ORDER BY day, kind""",
    columns=(DAY, KIND, counted("deleted", "Deleted"), counted("erased", "Erased")),
    say=_by_day_said,
    chart=_by_day_chart,
    empty="Nothing was deleted or erased in this period.",
)

BY_MACHINE = Section(
    name="deletions_by_machine",
    title="Deleted and erased by machine",
    query=f"""
        SELECT machine, host, sum(deleted)::bigint AS deleted, sum(erased)::bigint AS erased,
               max(day) AS day
        FROM report.deletions WHERE {PERIOD}
        GROUP BY machine, host HAVING sum(deleted + erased) > 0
        ORDER BY sum(deleted + erased) DESC, host, machine""",
    columns=(MACHINE, HOST, counted("deleted", "Deleted"), counted("erased", "Erased"), DAY),
    say=lambda rows, scope: (
        f"{words.plural(len(rows), 'machine')} deleted or erased something, most often"
        f" {words.name_of(rows[0]['host'])}."
    ),
    empty="Nothing was deleted or erased in this period.",
)

FIGURES = f"""
    SELECT (SELECT coalesce(sum(alive), 0)::bigint FROM report.totals WHERE {HERE}) AS alive,
           (SELECT coalesce(sum(deleted), 0)::bigint FROM report.deletions WHERE {PERIOD})
               AS deleted,
           (SELECT coalesce(sum(deleted), 0)::bigint FROM report.deletions WHERE {BEFORE})
               AS deleted_before,
           (SELECT coalesce(sum(erased), 0)::bigint FROM report.deletions WHERE {PERIOD})
               AS erased,
           (SELECT coalesce(sum(erased), 0)::bigint FROM report.deletions WHERE {BEFORE})
               AS erased_before"""

REPORT = Report(
    name="lifecycle",
    title="Kept, deleted, erased",
    answers="What the warehouse holds, what was deleted, what was erased for good.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("alive", "Rows alive")),
        Tile(column=counted("deleted", "Deleted in the period"), before="deleted_before"),
        Tile(column=counted("erased", "Erased in the period"), before="erased_before"),
    ),
    sections=(TOTALS, BY_DAY, BY_MACHINE),
)  # fmt: skip
