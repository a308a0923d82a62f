"""Report `machines`: which machines are in touch, what waits on them, whose clock is wrong."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    HERE,
    HOST,
    KIND,
    MACHINE,
    counted,
    machine_name,
    with_machine_names,
)
from satchel_warehouse.reports.report import Column, Report, Rows, Scope, Section, Spec, Tile

STATUSES = ("ok", "late", "failing", "never", "revoked")
CLOCK_OFFSET_MAX_MS = 5_000
"""From here on a clock is worth a word; order does not depend on it, ages do."""


def _standing_said(rows: Rows, scope: Scope) -> str:
    watched = [row for row in rows if row["status"] != "revoked"]
    bad = [row for row in watched if row["status"] != "ok"]
    if not watched:
        return "Every machine is revoked: nobody may sync."
    if not bad:
        if len(watched) == 1:
            return f"The one machine, {machine_name(watched[0])}, synced when it should have."
        return f"All {words.plural(len(watched), 'machine')} synced when they should have."
    behind = max(bad, key=lambda row: row["lag_s"] or 0)
    lag = f" for {words.span(behind['lag_s'])}" if behind["lag_s"] else " yet"
    return (
        f"{len(bad)} of {words.plural(len(watched), 'machine')} need a look:"
        f" {words.listed(machine_name(row) for row in bad)}."
        f" {machine_name(behind)} has not synced{lag}."
    )


def _standing_chart(rows: Rows, scope: Scope) -> Spec:
    watched = [row for row in rows if row["lag_s"] is not None and row["status"] != "revoked"]
    return charts.bars(
        with_machine_names(watched), "name", "lag_s", unit="seconds", series="status",
        order=STATUSES, with_others=False,
    )  # fmt: skip


STANDING = Section(
    name="standing",
    title="Machines and their last sync",
    query=f"""
        SELECT machine, host, status, version, last_sync, lag_s, syncs_7d, failed_7d,
               rows_behind, quarantined
        FROM report.machines WHERE {HERE}
        ORDER BY array_position(ARRAY['failing', 'late', 'never', 'ok', 'revoked'], status),
                 lag_s DESC NULLS FIRST, host, machine""",
    columns=(
        MACHINE,
        HOST,
        Column(name="status", label="Status"),
        Column(name="version", label="Version"),
        Column(name="last_sync", label="Last sync", unit="time"),
        Column(name="lag_s", label="Ago", unit="seconds"),
        counted("syncs_7d", "Syncs, 7 d"),
        counted("failed_7d", "Failed, 7 d"),
        counted("rows_behind", "To pull"),
        counted("quarantined", "Held back"),
    ),
    say=_standing_said,
    chart=_standing_chart,
    empty="No machine has synced with this warehouse yet.",
    live=True,
)


def _versions_said(rows: Rows, scope: Scope) -> str:
    if len(rows) == 1:
        return f"Every machine runs satchel {words.name_of(rows[0]['version'])}."
    name, machines, part = words.top(rows, "version", "machines")
    return (
        f"{len(rows)} versions are in use; {name} on {words.plural(machines, 'machine')}"
        f" ({words.share(part)})."
    )


VERSIONS = Section(
    name="versions",
    title="Versions of satchel",
    query=f"""
        SELECT version, count(*) AS machines, max(last_sync) AS last_sync
        FROM report.machines WHERE {HERE} AND status <> 'revoked'
        GROUP BY version ORDER BY machines DESC, version""",
    columns=(
        Column(name="version", label="Version"),
        counted("machines", "Machines"),
        Column(name="last_sync", label="Last sync", unit="time"),
    ),
    say=_versions_said,
    chart=lambda rows, scope: charts.bars(rows, "version", "machines"),
    empty="No machine has synced with this warehouse yet.",
    live=True,
)


def _clocks_said(rows: Rows, scope: Scope) -> str:
    off = [row for row in rows if abs(row["clock_offset_ms"]) > CLOCK_OFFSET_MAX_MS]
    if not off:
        return f"All clocks are within {CLOCK_OFFSET_MAX_MS // 1000} s of the warehouse's."
    worst = rows[0]
    return (
        f"{words.plural(len(off), 'clock')} {'is' if len(off) == 1 else 'are'} off by more than"
        f" {CLOCK_OFFSET_MAX_MS // 1000} s; {machine_name(worst)} by"
        f" {words.span(worst['clock_offset_ms'] / 1000)}. Order does not depend on it, dates do."
    )


CLOCKS = Section(
    name="clocks",
    title="Clocks",
    query=f"""
        SELECT machine, host, clock_offset_ms::bigint AS clock_offset_ms, last_sync
        FROM report.machines
        WHERE {HERE} AND status <> 'revoked' AND clock_offset_ms IS NOT NULL
        ORDER BY abs(clock_offset_ms) DESC, host, machine LIMIT 100""",
    columns=(
        MACHINE,
        HOST,
        counted("clock_offset_ms", "Ahead of the warehouse, ms"),
        Column(name="last_sync", label="Last sync", unit="time"),
    ),
    say=_clocks_said,
    empty="No machine has told its clock yet.",
    live=True,
)


def _quarantine_said(rows: Rows, scope: Scope) -> str:
    many = words.total(rows, "rows")
    kind, of_kind, _ = words.top(rows, "kind", "rows")
    machines = len({row["machine"] for row in rows})
    return (
        f"{words.plural(many, 'row')} on {words.plural(machines, 'machine')}"
        f" cannot travel as they are, most of kind {kind} ({words.count(of_kind)}):"
        " `satchel sync quarantine` on the machine says why."
    )


QUARANTINE = Section(
    name="quarantine",
    title="Rows that cannot travel",
    query=f"""
        SELECT machine, host, kind, rows, reported_at
        FROM report.quarantine WHERE {HERE} ORDER BY rows DESC, host, machine, kind""",
    columns=(
        MACHINE,
        HOST,
        KIND,
        counted("rows", "Rows"),
        Column(name="reported_at", label="Reported", unit="time"),
    ),
    say=_quarantine_said,
    empty="No machine holds a row back: all that was written could travel.",
    live=True,
)


def _lags(rows: Rows, scope: Scope) -> Spec:
    return charts.bars(
        with_machine_names(rows), "name", "oldest_unsent_s", unit="seconds", with_others=False
    )


UNSENT = Section(
    name="unsent",
    title="What waits on machines",
    query=f"""
        SELECT machine, host, oldest_unsent_s, rows_behind, last_sync
        FROM report.machines
        WHERE {HERE} AND status <> 'revoked' AND oldest_unsent_s > 0
        ORDER BY oldest_unsent_s DESC, host, machine""",
    columns=(
        MACHINE,
        HOST,
        Column(name="oldest_unsent_s", label="Oldest unsent", unit="seconds"),
        counted("rows_behind", "Changes to pull"),
        Column(name="last_sync", label="Last sync", unit="time"),
    ),
    say=lambda rows, scope: (
        f"When {words.plural(len(rows), 'machine')} last synced, something stayed behind; the"
        f" oldest row, on {machine_name(rows[0])}, for {words.span(rows[0]['oldest_unsent_s'])}."
    ),
    chart=_lags,
    empty="At its last sync no machine left anything unsent.",
    live=True,
)

FIGURES = f"""
    SELECT count(*) FILTER (WHERE status <> 'revoked') AS machines,
           count(*) FILTER (WHERE status = 'ok') AS ok,
           count(*) FILTER (WHERE status IN ('late', 'failing')) AS trouble,
           coalesce(sum(syncs_7d), 0)::bigint AS syncs,
           coalesce(sum(failed_7d), 0)::bigint AS failed,
           coalesce(sum(quarantined), 0)::bigint AS quarantined
    FROM report.machines WHERE {HERE}"""

REPORT = Report(
    name="machines",
    title="Machines",
    answers="Which machines are in touch, what waits on them, whose clock is wrong.",
    figures=FIGURES,
    tiles=(
        Tile(
            column=counted("ok", "Machines in touch"),
            note=lambda row: f"of {words.count(row['machines'])}",
        ),
        Tile(
            column=counted("trouble", "Late or failing"),
            note=lambda row: "synced last too long ago, or not with success",
        ),
        Tile(
            column=counted("syncs", "Syncs in 7 days"),
            note=lambda row: f"{words.count(row['failed'])} failed",
        ),
        Tile(column=counted("quarantined", "Rows held back")),
    ),
    live=("machines", "ok", "trouble", "quarantined"),
    sections=(STANDING, UNSENT, QUARANTINE, CLOCKS, VERSIONS),
)
