"""Views of what is known: memories by state, what changed in them, vectors, totals."""

from __future__ import annotations

from satchel_warehouse.views.view import (
    HOST,
    KIND,
    MACHINE,
    TENANT,
    View,
    count,
    day,
    moment,
    number,
    text,
)

STALE_DAYS = 180
"""A current memory that is not pinned and was not written for longer is `stale`."""

MEMORIES = View(
    name="memories",
    doc="Living memories by state, type, scope and space; of the states the first that holds.",
    sum="memories",
    columns=(
        TENANT,
        text(
            "state",
            "`expired`: its expires_at has passed; `superseded`: another took its place;"
            " `retracted`: no longer true, taken back or at its end, and nothing took its place;"
            " `future`: not true yet; `stale`: true, not pinned and not written for"
            f" {STALE_DAYS} days; `current`: any other",
        ),
        text("type", "type of memory: fact, decision, …"),
        text("scope", "who may read it: agent, session, space, user, org"),
        text("space", "the space; NULL: none"),
        count("memories", "memories"),
        count("pinned", "of these, pinned ones"),
        moment("oldest", "when the first of them was recorded"),
        moment("newest", "when the last of them was recorded"),
    ),
)

KNOWLEDGE_CHANGES = View(
    name="knowledge_changes",
    doc="What became of memories after they were written: who changed what, when. Never a text.",
    sum="changes",
    columns=(
        TENANT,
        moment("at", "when, by the machine's clock"),
        day("day", "its day in UTC"),
        text(
            "event",
            "`supersede`: another took its place; `retract`; `reopen`: a supersession was undone;"
            " `update`, `delete`, `restore`; `other`: what a newer or another program wrote",
        ),
        text("memory_id", "the memory"),
        text("successor_id", "of `supersede`: what took its place, where that still stands"),
        text("actor", "agent or user; NULL: the operator"),
        MACHINE,
        HOST,
        text("type", "its type now; of a deleted one as the deletion found it"),
        text("scope", "its scope, likewise"),
        text("space", "its space, likewise"),
        text("fields", "columns that an update changed, by name, with `, ` between"),
    ),
)

EMBEDDING_COVERAGE = View(
    name="embedding_coverage",
    doc="How many living memories have a vector of their present text, by model.",
    sum="coverage",
    columns=(
        TENANT,
        text("model", "model: name and hash of its weights"),
        count("memories", "living memories that have a text"),
        count("embedded", "those with a vector of their present text"),
        count("outdated", "those whose vectors are all of an earlier text"),
        count("missing", "those without any vector of the model"),
        number("share", "embedded / memories, 0..1"),
    ),
)

TOTALS = View(
    name="totals",
    doc="Rows at the warehouse by kind.",
    sum="totals",
    columns=(
        TENANT,
        KIND,
        count("alive", "living rows"),
        count("deleted", "tombstones"),
        count("erased", "rows emptied for ever by a forget"),
    ),
)

FRESHNESS = View(
    name="freshness",
    doc="When the views that are no live ones were made anew; no line of a tenant: never.",
    sum=None,
    columns=(
        TENANT,
        text("name", "view"),
        moment("refreshed_at", "as of when it tells"),
        count("rows", "its lines then; NULL of `task_flow` and `tasks_open`, which add up `tasks`"),
    ),
)
