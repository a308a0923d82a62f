"""Report `usage`: conversations, tokens and what they cost, by model, agent and machine."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    AGENT,
    BEFORE,
    DAY,
    HERE,
    HOST,
    NOT_TOLD,
    PERIOD,
    counted,
    named,
)
from satchel_warehouse.reports.report import Column, Report, Rows, Scope, Section, Tile

COST = Column(name="cost", label="Cost, US$", unit="money")
PROVIDER, MODEL = Column(name="provider", label="Provider"), Column(name="model", label="Model")
LISTED_MAX = 100
_SUMS = """sum(turns)::bigint AS turns, sum(tokens_in)::bigint AS tokens_in,
               sum(tokens_out)::bigint AS tokens_out,
               sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0))::bigint AS tokens,
               sum(cost)::double precision AS cost"""
_COUNTS = (
    counted("turns", "Turns"),
    counted("tokens_in", "Tokens read"),
    counted("tokens_out", "Tokens written"),
    counted("tokens", "Tokens"),
    COST,
)


def _by_day_said(rows: Rows, scope: Scope) -> str:
    days = words.totals(rows, "day", "tokens")
    every = sum(days.values())
    busiest, most = next(iter(days.items()))
    written = words.total(rows, "tokens_out")
    return (
        f"{words.plural(every, 'token')}, {words.share(written / every if every else 0)} of them"
        f" written by models; most on {words.day(busiest)} ({words.count(most)})."
    )


BY_DAY = Section(
    name="tokens_by_day",
    title="Tokens by day and model",
    query=f"""
        SELECT day, model, {_SUMS}
        FROM report.usage WHERE {PERIOD} GROUP BY day, model ORDER BY day, model""",
    columns=(DAY, MODEL, *_COUNTS),
    say=_by_day_said,
    chart=lambda rows, scope: charts.by_day(
        named(rows, "model", NOT_TOLD), "tokens", "model", scope, "Tokens"
    ),
    empty="No conversation was recorded in this period.",
)


def _models_said(rows: Rows, scope: Scope) -> str:
    rows = named(rows, "model", NOT_TOLD)
    name, most, part = words.top(rows, "model", "tokens")
    cost = words.total(rows, "cost")
    unpriced = words.total([row for row in rows if row["cost"] is None], "tokens")
    every = words.total(rows, "tokens")
    told = f"{name} took {words.share(part)} of the tokens ({words.count(most)})."
    if not cost:
        return told + " No cost is known: machines reckon it where their prices.toml has prices."
    dear, dearest, _ = words.top(rows, "model", "cost")
    return words.sentences(
        told,
        f"All cost {words.money(cost)}, {dear} {words.money(dearest)} of that.",
        f"{words.share(unpriced / every)} of the tokens have no price." if unpriced else "",
    )


BY_MODEL = Section(
    name="usage_by_model",
    title="Tokens and cost by provider and model",
    query=f"""
        SELECT provider, model, {_SUMS}, count(DISTINCT agent) AS agents
        FROM report.usage WHERE {PERIOD}
        GROUP BY provider, model ORDER BY tokens DESC, provider, model""",
    columns=(PROVIDER, MODEL, *_COUNTS, counted("agents", "Agents")),
    say=_models_said,
    chart=lambda rows, scope: charts.bars(
        named(named(rows, "model", NOT_TOLD), "provider", NOT_TOLD),
        "model", "tokens", series="provider",
    ),
    empty="No conversation was recorded in this period.",
)  # fmt: skip


def _agents_said(rows: Rows, scope: Scope) -> str:
    name, most, part = words.top(named(rows, "agent", NOT_TOLD), "agent", "tokens")
    return (
        f"{name} used {words.plural(most, 'token')} ({words.share(part)}) in"
        f" {words.plural(rows[0]['turns'], 'turn')}."
    )


BY_AGENT = Section(
    name="usage_by_agent",
    title="Tokens and cost by agent",
    query=f"""
        SELECT agent, {_SUMS}, count(DISTINCT machine) AS machines
        FROM report.usage WHERE {PERIOD} GROUP BY agent ORDER BY tokens DESC, agent""",
    columns=(AGENT, *_COUNTS, counted("machines", "Machines")),
    say=_agents_said,
    chart=lambda rows, scope: charts.bars(named(rows, "agent", NOT_TOLD), "agent", "tokens"),
    empty="No conversation was recorded in this period.",
)


def _talks_said(rows: Rows, scope: Scope) -> str:
    most = rows[0]
    tokens = (most["tokens_in"] or 0) + (most["tokens_out"] or 0)
    return (
        f"The largest conversation, with {words.name_of(most['agent'])} on"
        f" {words.name_of(most['host'])}, took {words.plural(tokens, 'token')} in"
        f" {words.plural(most['turns'], 'turn')}."
    )


CONVERSATIONS = Section(
    name="conversations",
    title="The largest conversations",
    query=f"""
        SELECT conversation_id, host_agent, agent, host, first_at, last_at, turns,
               tokens_in::bigint AS tokens_in, tokens_out::bigint AS tokens_out,
               cost::double precision AS cost
        FROM report.conversations
        WHERE {HERE} AND last_at >= %(since)s AND last_at < %(until)s::date + 1
        ORDER BY coalesce(tokens_in, 0) + coalesce(tokens_out, 0) DESC, conversation_id
        LIMIT {LISTED_MAX}""",
    columns=(
        Column(name="conversation_id", label="Conversation", unit="id"),
        Column(name="host_agent", label="Program"),
        AGENT,
        HOST,
        Column(name="first_at", label="Began", unit="time"),
        Column(name="last_at", label="Last turn", unit="time"),
        counted("turns", "Turns"),
        counted("tokens_in", "Tokens read"),
        counted("tokens_out", "Tokens written"),
        COST,
    ),
    say=_talks_said,
    empty="No conversation was recorded in this period.",
)

FIGURES = f"""
    SELECT now_.*, before_.*, talks.* FROM (
        SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0)::bigint AS tokens,
               sum(cost)::double precision AS cost, coalesce(sum(turns), 0)::bigint AS turns
        FROM report.usage WHERE {PERIOD}
    ) AS now_, (
        SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0)::bigint
                   AS tokens_before,
               coalesce(sum(cost), 0)::double precision AS cost_before
        FROM report.usage WHERE {BEFORE}
    ) AS before_, (
        SELECT count(*) AS conversations FROM report.conversations
        WHERE {HERE} AND last_at >= %(since)s AND last_at < %(until)s::date + 1
    ) AS talks"""

REPORT = Report(
    name="usage",
    title="Conversations and cost",
    answers="Conversations, tokens and what they cost, by model, agent and machine.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("tokens", "Tokens"), before="tokens_before"),
        Tile(column=COST, before="cost_before",
             note=lambda row: "no price is known" if row["cost"] is None else ""),
        Tile(column=counted("conversations", "Conversations"),
             note=lambda row: words.plural(row["turns"], "turn")),
    ),
    sections=(BY_DAY, BY_MODEL, BY_AGENT, CONVERSATIONS),
)  # fmt: skip
