"""Report `overview`: the state of everything on one page."""

from __future__ import annotations

from satchel_warehouse.reports import words
from satchel_warehouse.reports.catalog import (
    activity,
    conflicts,
    knowledge,
    lifecycle,
    machines,
    reads,
    tasks,
    usage,
)
from satchel_warehouse.reports.catalog.where import BEFORE, HERE, PERIOD, counted
from satchel_warehouse.reports.report import Column, Report, Tile
from satchel_warehouse.views.knowledge import STALE_DAYS

FIGURES = f"""
    SELECT known.*, fleet.*, work.*, lost.*, talk.*, meaning.* FROM (
        SELECT coalesce(sum(memories) FILTER (WHERE state IN ('current', 'stale')), 0)::bigint
                   AS now,
               coalesce(sum(memories) FILTER (WHERE state = 'stale'), 0)::bigint AS stale
        FROM report.memories WHERE {HERE}
    ) AS known, (
        SELECT count(*) FILTER (WHERE status <> 'revoked') AS machines,
               count(*) FILTER (WHERE status = 'ok') AS ok
        FROM report.machines WHERE {HERE}
    ) AS fleet, (
        SELECT (SELECT coalesce(sum(tasks), 0)::bigint FROM report.tasks_open WHERE {HERE}) AS open,
               (SELECT coalesce(sum(done), 0)::bigint FROM report.task_flow WHERE {PERIOD}) AS done,
               (SELECT coalesce(sum(done), 0)::bigint FROM report.task_flow WHERE {BEFORE})
                   AS done_before
    ) AS work, (
        SELECT (SELECT coalesce(sum(conflicts), 0)::bigint FROM report.conflicts WHERE {PERIOD})
                   AS conflicts,
               (SELECT coalesce(sum(conflicts), 0)::bigint FROM report.conflicts WHERE {BEFORE})
                   AS conflicts_before,
               (SELECT coalesce(sum(created + changed + deleted), 0)::bigint FROM report.activity
                WHERE {PERIOD}) AS writes
    ) AS lost, (
        SELECT (SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0)::bigint
                FROM report.usage WHERE {PERIOD}) AS tokens,
               (SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0)::bigint
                FROM report.usage WHERE {BEFORE}) AS tokens_before,
               (SELECT sum(cost)::double precision FROM report.usage WHERE {PERIOD}) AS cost
    ) AS talk, (
        SELECT max(share) AS share FROM (
            SELECT (sum(embedded) / nullif(sum(memories), 0))::double precision AS share
            FROM report.embedding_coverage WHERE {HERE} GROUP BY model
        ) AS of_model
    ) AS meaning"""

REPORT = Report(
    name="overview",
    title="Overview",
    answers="The state of everything on one page: knowledge, machines, work, cost.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("now", "Memories true now"),
             note=lambda row: f"{words.count(row['stale'])} not written for {STALE_DAYS} days"),
        Tile(column=counted("ok", "Machines in touch"),
             note=lambda row: f"of {words.count(row['machines'])}"),
        Tile(column=counted("done", "Tasks done"), before="done_before", better="up",
             note=lambda row: f"{words.count(row['open'])} open now"),
        Tile(column=counted("conflicts", "Conflicts"), before="conflicts_before", better="down",
             note=conflicts.per_thousand),
        Tile(column=counted("tokens", "Tokens"), before="tokens_before",
             note=lambda row: "no price is known" if row["cost"] is None
             else f"for {words.money(row['cost'])}"),
        Tile(column=Column(name="share", label="Found by meaning", unit="share"),
             note=lambda row: "of the memories"),
    ),
    live=("machines", "ok"),
    short=("standing", "memories_by_state", "task_flow", "tasks_open", "conflicts_by_day",
           "usage_by_model"),
    sections=(
        activity.BY_DAY,
        machines.STANDING,
        knowledge.BY_STATE,
        knowledge.BY_DAY,
        tasks.FLOW,
        tasks.OPEN,
        conflicts.BY_DAY,
        usage.BY_DAY,
        usage.BY_MODEL,
        reads.COVERAGE,
        lifecycle.TOTALS,
    ),
)  # fmt: skip
