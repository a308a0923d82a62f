"""Report `knowledge`: what is known, how current it is, who changed it when."""

from __future__ import annotations

from satchel_warehouse.reports import charts, words
from satchel_warehouse.reports.catalog.where import (
    DAY,
    HERE,
    HOST,
    MOMENTS,
    NO_SPACE,
    counted,
    named,
)
from satchel_warehouse.reports.report import Column, Report, Row, Rows, Scope, Section, Tile
from satchel_warehouse.views.knowledge import STALE_DAYS

STATES = ("current", "stale", "future", "superseded", "expired", "retracted")
TRUE_NOW = ("current", "stale")
LATEST_MAX = 200
TYPE, SCOPE = Column(name="type", label="Type"), Column(name="scope", label="Scope")
SPACE = Column(name="space", label="Space")


def _stale_share(rows: Rows) -> tuple[float, float]:
    """Memories that are true now, and the share of them that nobody wrote for half a year."""
    now = words.total([row for row in rows if row["state"] in TRUE_NOW], "memories")
    stale = words.total([row for row in rows if row["state"] == "stale"], "memories")
    return now, stale / now if now else 0.0


def _most_said(rows: Rows) -> str:
    name, _, part = words.top([row for row in rows if row["state"] in TRUE_NOW], "type", "memories")
    return f"Most are of type {name} ({words.share(part)})."


def _states_said(rows: Rows, scope: Scope) -> str:
    now, stale = _stale_share(rows)
    every = words.total(rows, "memories")
    return words.sentences(
        f"{words.count(now)} of {words.plural(every, 'memory', 'memories')} are true now"
        f" ({words.share(now / every if every else 0)})"
        + (
            "; the others were superseded, expired or retracted, or are not true yet, and stay to"
            " be asked for."
            if now < every
            else "."
        ),
        f"Nobody wrote {words.share(stale)} of what is true now for {STALE_DAYS} days."
        if stale
        else "",
        _most_said(rows) if now else "",
    )


BY_STATE = Section(
    name="memories_by_state",
    title="Memories by type and state",
    query=f"""
        SELECT coalesce(type, 'note') AS type, state, sum(memories)::bigint AS memories,
               sum(pinned)::bigint AS pinned, min(oldest) AS oldest, max(newest) AS newest
        FROM report.memories WHERE {HERE}
        GROUP BY 1, state ORDER BY memories DESC, 1, state""",
    columns=(
        TYPE,
        Column(name="state", label="State"),
        counted("memories", "Memories"),
        counted("pinned", "Pinned"),
        Column(name="oldest", label="Oldest", unit="time"),
        Column(name="newest", label="Newest", unit="time"),
    ),
    say=_states_said,
    chart=lambda rows, scope: charts.bars(rows, "type", "memories", series="state", order=STATES),
    empty="No memory has come to this warehouse yet.",
)


def _spaces_said(rows: Rows, scope: Scope) -> str:
    in_space = [row for row in rows if row["space"]]
    shared = words.total([row for row in rows if row["scope"] == "org"], "memories")
    every = words.total(rows, "memories")
    told = f"{words.share(shared / every if every else 0)} of what is true now has the scope org."
    if not in_space:
        return f"No memory that is true now belongs to a space; {told}"
    name, most, _ = words.top(in_space, "space", "memories")
    return (
        f"The largest space, {name}, holds {words.plural(most, 'memory', 'memories')}"
        f" ({words.share(most / every if every else 0)}); {told}"
    )


BY_SPACE = Section(
    name="memories_by_space",
    title="What is true now, by space and scope",
    query=f"""
        SELECT space, scope, sum(memories)::bigint AS memories,
               coalesce(sum(memories) FILTER (WHERE state = 'stale'), 0)::bigint AS stale,
               max(newest) AS newest
        FROM report.memories WHERE {HERE} AND state IN ('current', 'stale')
        GROUP BY space, scope ORDER BY memories DESC, space, scope""",
    columns=(
        SPACE,
        SCOPE,
        counted("memories", "Memories"),
        counted("stale", "Stale"),
        Column(name="newest", label="Newest", unit="time"),
    ),
    say=_spaces_said,
    chart=lambda rows, scope: charts.bars(
        named(rows, "space", NO_SPACE), "space", "memories", series="scope"
    ),
    empty="No memory is true now.",
)


EVENTS = {
    "update": ("update", "updates"),
    "supersede": ("supersession", "supersessions"),
    "retract": ("retraction", "retractions"),
    "reopen": ("supersession undone", "supersessions undone"),
    "delete": ("deletion", "deletions"),
    "restore": ("restoration", "restorations"),
}


def _happened(event: str, times: float) -> str:
    one, more = EVENTS.get(event, (words.name_of(event), words.name_of(event)))
    return words.plural(times, one, more)


def _changes_said(rows: Rows, scope: Scope) -> str:
    events = words.totals(rows, "event", "changes")
    days = words.totals(rows, "day", "changes")
    told = words.listed((_happened(event, n) for event, n in events.items()), len(EVENTS))
    most = next(iter(days))
    return f"{told}; most changes in a day on {words.day(most)} ({words.count(days[most])})."


BY_DAY = Section(
    name="changes_by_day",
    title="How knowledge changed",
    query=f"""
        SELECT day, event, count(*) AS changes, count(DISTINCT actor) AS actors
        FROM report.knowledge_changes WHERE {MOMENTS} GROUP BY day, event ORDER BY day, event""",
    columns=(
        DAY,
        Column(name="event", label="Event"),
        counted("changes", "Changes"),
        counted("actors", "Actors"),
    ),
    say=_changes_said,
    chart=lambda rows, scope: charts.by_day(rows, "changes", "event", scope, "Changes"),
    empty="No memory changed in this period.",
)

LATEST = Section(
    name="latest_changes",
    title="The latest changes",
    query=f"""
        SELECT at, event, actor, host, type, space, fields, memory_id, successor_id
        FROM report.knowledge_changes WHERE {MOMENTS}
        ORDER BY at DESC, memory_id LIMIT {LATEST_MAX}""",
    columns=(
        Column(name="at", label="When", unit="time"),
        Column(name="event", label="Event"),
        Column(name="actor", label="By"),
        HOST,
        TYPE,
        SPACE,
        Column(name="fields", label="Changed"),
        Column(name="memory_id", label="Memory", unit="id"),
        Column(name="successor_id", label="Successor", unit="id"),
    ),
    say=lambda rows, scope: (
        f"The newest {words.plural(len(rows), 'change')}, since {words.moment(rows[-1]['at'])}."
        " `satchel memory history ID` shows what the texts were, to who may see them."
    ),
    empty="No memory changed in this period.",
)


def _stale_note(row: Row) -> str:
    return f"{words.share(row['stale'] / row['now'])} of what is true now" if row["now"] else ""


FIGURES = f"""
    SELECT coalesce(sum(memories) FILTER (WHERE state IN ('current', 'stale')), 0)::bigint AS now,
           coalesce(sum(memories) FILTER (WHERE state = 'stale'), 0)::bigint AS stale,
           coalesce(sum(memories) FILTER (WHERE state IN ('superseded', 'expired', 'retracted')),
                    0)::bigint AS past,
           coalesce(sum(pinned), 0)::bigint AS pinned,
           (SELECT count(*) FROM report.knowledge_changes WHERE {MOMENTS}) AS changes
    FROM report.memories WHERE {HERE}"""

REPORT = Report(
    name="knowledge",
    title="Knowledge",
    answers="What is known, how current it is, who changed it when.",
    figures=FIGURES,
    tiles=(
        Tile(column=counted("now", "Memories true now"),
             note=lambda row: f"{words.count(row['past'])} are past and kept"),
        Tile(column=counted("stale", f"Not written for {STALE_DAYS} days"), note=_stale_note),
        Tile(column=counted("pinned", "Pinned")),
        Tile(column=counted("changes", "Changes in the period")),
    ),
    sections=(BY_STATE, BY_SPACE, BY_DAY, LATEST),
)  # fmt: skip
