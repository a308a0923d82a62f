"""Digest check: are both sides equal? What no cursor can find is found and repaired here."""

from __future__ import annotations

from collections.abc import Sequence

from satchel_sync.phases.compare import differing, level, unlike
from satchel_sync.phases.pull import pull_table
from satchel_sync.phases.push import push_table
from satchel_sync.ports import Hub, Replica
from satchel_sync.progress import silent
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally

ORDER = ("equal", "later", "repaired", "different")
"""Outcomes of one kind; a sync reports the last one that occurred."""


def verify(replica: Replica, hub: Hub, tally: Tally) -> None:
    """Compare every kind, repair the buckets that differ, and record the worst outcome."""
    tables = [table for table in TABLES if table.name not in tally.failed]
    outcomes = {"equal"}
    found = compare(replica, hub, tables)
    for table in tables:
        match found[table.name]:
            case None:
                outcomes.add("later")
                tally.later.append(table.name)
            case [_, *_] as buckets:
                outcomes.add(repair(replica, hub, table, buckets, tally))
    tally.digest = max(outcomes, key=ORDER.index)


def compare(replica: Replica, hub: Hub, tables: Sequence[Table]) -> dict[str, list[int] | None]:
    """Kind -> buckets that differ; None where writes are racing and nothing can be said now."""
    before = replica.outbox_end()
    mine = {table.name: replica.digest(table) for table in tables}
    without = {table.name: replica.held_back(table) for table in tables}
    if replica.outbox_end() != before:
        return dict.fromkeys(mine)  # a write between two of these calls would look like a loss
    theirs = hub.digests({kind: without[kind] for kind, digest in mine.items() if digest})
    return {
        kind: None
        if digest is None or theirs[kind].seq > digest.seq
        else differing(digest, theirs[kind])
        for kind, digest in mine.items()
    }


def repair(replica: Replica, hub: Hub, table: Table, buckets: Sequence[int], tally: Tally) -> str:
    """Level these buckets, last write wins as always, and look again; returns the outcome.

    The keys are named in the report. What was pushed lies above the cursor, so a pull comes before
    the second look: without it that could never tell that the two sides are equal now.
    """
    found = level(replica, hub, table, buckets, tally)
    push_table(replica, hub, table, replica.outbox_end(), tally, silent)
    pull_table(replica, hub, table, hub.bound()[table.name], tally, silent)
    still = compare(replica, hub, [table])[table.name]
    left = unlike(replica, hub, table, still) if still else []
    stayed = replica.held_back(table)  # the hub may have refused some of them just now
    tally.name(tally.repaired, table.name, set(found).difference(left, stayed))
    tally.name(tally.different, table.name, left)
    if still is None:
        return "later"
    return "different" if still else "repaired"
