"""Views of machines: how their syncs stand, what they wrote, read, deleted, and disagreed on."""

from __future__ import annotations

from satchel_warehouse.views.view import (
    DAY,
    HOST,
    KIND,
    MACHINE,
    TENANT,
    View,
    count,
    flag,
    moment,
    number,
    text,
)

LATE_HOURS = 24
"""A machine that has finished no sync for longer is `late`."""

MACHINES = View(
    name="machines",
    doc="One line a machine: when it synced last, how far it is behind, what it reported.",
    sum="machines",
    is_mixed=True,
    columns=(
        TENANT,
        MACHINE,
        HOST,
        text("login", "the login that its id is bound to"),
        text("version", "version of satchel in its last hello"),
        moment("first_seen", "when it came for the first time"),
        moment("last_seen", "when it last said hello"),
        moment("last_sync", "when it last came to the end of a sync, whatever its exit code"),
        count("last_exit", "exit code of that sync: 0 clean, 11 rows held back, else a failure"),
        count(
            "syncs_7d",
            "syncs begun, and bundles taken in, in the 7 days before the refresh; NULL before the"
            " first",
        ),
        count(
            "failed_7d",
            "of these, those that ended with another exit code than 0 or 11, or had not ended an"
            " hour after they began",
        ),
        number("lag_s", "seconds since last_sync"),
        count("rows", "rows whose newest version it brought, at the refresh"),
        count(
            "rows_behind",
            "changes at the warehouse that were not delivered to it at the refresh, its own"
            " included: a machine pulls those too",
        ),
        number(
            "oldest_unsent_s",
            "age of the oldest row that still waited there at the end of its last sync; NULL:"
            " none waited, or its satchel does not tell",
        ),
        count("clock_offset_ms", "how far its clock was ahead of the warehouse's at last_sync"),
        count("quarantined", "rows that could not travel at last_sync"),
        flag("revoked", "whether its doors are closed"),
        text(
            "status",
            "`revoked`; `never` came to the end of a sync; `failing`: the last one that ended or"
            " should have failed; `late`: none ended for more than"
            f" {LATE_HOURS} hours; else `ok`",
        ),
    ),
)

ACTIVITY = View(
    name="activity",
    doc="Rows created, changed, deleted by day, machine, agent, kind; no history, no erased rows.",
    sum="activity",
    columns=(
        TENANT,
        DAY,
        MACHINE,
        HOST,
        text(
            "agent",
            "who: of a new row its agent (of one deleted since it is not told), else the actor in"
            " the history; NULL: not told",
        ),
        KIND,
        count(
            "created",
            "rows first written that day, also such as were deleted since; a chat turn counts on"
            " the day on which it was said",
        ),
        count(
            "changed",
            "changes that the history tells of (memories, edges, tasks, chat turns, sessions,"
            " spaces), restores included; SQL by hand at the warehouse leaves no history",
        ),
        count("deleted", "rows deleted that day and not restored since; erased ones are not told"),
    ),
)

CONFLICTS = View(
    name="conflicts",
    doc="Versions that lost to a concurrent one: what is still kept of the conflict journal.",
    sum="conflicts",
    columns=(
        TENANT,
        DAY,
        MACHINE,
        HOST,
        KIND,
        text("path", "how the two met: `push`, `pull`, `bundle` or another path of a sync"),
        count("conflicts", "versions that the machine brought to the journal that day"),
        count("rows_written", "rows of the kind that the machine created, changed or deleted then"),
        number("rate", "conflicts a row written; NULL where none was written that day"),
    ),
)

QUARANTINE = View(
    name="quarantine",
    doc="Rows that a machine holds back as they cannot travel, as its last report says.",
    sum=None,
    columns=(
        TENANT,
        MACHINE,
        HOST,
        text("kind", "row kind; NULL: its satchel tells the number only"),
        count("rows", "rows held back"),
        moment("reported_at", "when the sync ended that says so"),
    ),
)

DELETIONS = View(
    name="deletions",
    doc="Rows that are deleted or erased now, by the day and machine of that.",
    sum="deletions",
    columns=(
        TENANT,
        DAY,
        MACHINE,
        HOST,
        KIND,
        count("deleted", "tombstones: deleted that day by that machine, and not restored since"),
        count(
            "erased",
            "rows emptied for ever by a forget, by the day on which that arrived and the machine"
            " that brought it; rows about a forgotten one included",
        ),
    ),
)

READS = View(
    name="reads",
    doc="What was searched and read: what is still kept of audit chains and of searches here.",
    sum="reads",
    columns=(
        TENANT,
        DAY,
        MACHINE,
        HOST,
        text("actor", "agent or user who asked, of a search here the login; NULL: the operator"),
        text("tool", "the tool, e.g. memory_search; `warehouse search` of a search here"),
        text("action", "`read`; `searched` of a search here"),
        count("records", "records: one for each call"),
        count("rows_given", "rows that the calls gave"),
    ),
)
