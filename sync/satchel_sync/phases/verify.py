"""Digest check: are both sides equal? What no cursor can find is found and repaired here."""

from __future__ import annotations

from collections.abc import Sequence

from satchel_sync.phases.compare import differing, level
from satchel_sync.phases.push import push_table
from satchel_sync.ports import Hub, Replica
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
            case [_, *_] as buckets:
                repair(replica, hub, table, buckets, tally)
                still = compare(replica, hub, [table])[table.name]
                outcomes.add("different" if still else "repaired")
    tally.digest = max(outcomes, key=ORDER.index)


def compare(replica: Replica, hub: Hub, tables: Sequence[Table]) -> dict[str, list[int] | None]:
    """Kind -> buckets that differ; None where writes are racing and nothing can be said now."""
    mine = {table.name: replica.digest(table) for table in tables}
    without = {table.name: replica.held_back(table) for table in tables}
    theirs = hub.digests({kind: without[kind] for kind, digest in mine.items() if digest})
    return {
        kind: None
        if digest is None or theirs[kind].seq > digest.seq
        else differing(digest, theirs[kind])
        for kind, digest in mine.items()
    }


def repair(replica: Replica, hub: Hub, table: Table, buckets: Sequence[int], tally: Tally) -> None:
    """Level these buckets; last write wins as always. The keys are named in the report."""
    tally.name(tally.repaired, table.name, level(replica, hub, table, buckets, tally))
    push_table(replica, hub, table, replica.outbox_end(), tally, lambda *_: None)
