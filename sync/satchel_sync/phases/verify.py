"""Digest check: are both sides equal? What no cursor can find is found and repaired here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from satchel_sync.changes import Digest
from satchel_sync.phases.push import push_table
from satchel_sync.ports import Hub, Replica
from satchel_sync.stamp import Stamp
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally

ORDER = ("equal", "later", "repaired", "different")
"""Outcomes of one kind; a sync reports the last one that occurred."""


def verify(replica: Replica, hub: Hub, tally: Tally) -> None:
    """Compare every kind, repair the buckets that differ, and record the worst outcome."""
    outcomes = {"equal"}
    found = compare(replica, hub, TABLES)
    for table in TABLES:
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


def differing(mine: Digest, theirs: Digest) -> list[int]:
    """Buckets with another count or sum on the two sides."""
    buckets = mine.buckets.keys() | theirs.buckets.keys()
    return sorted(b for b in buckets if mine.buckets.get(b) != theirs.buckets.get(b))


def repair(
    replica: Replica, hub: Hub, table: Table, buckets: Collection[int], tally: Tally
) -> None:
    """Send what is newer here, fetch what is newer there; last write wins as always."""
    mine = replica.manifest(table, buckets)
    held_back = set(replica.held_back(table))
    theirs = {k: s for k, s in hub.manifest(table, buckets).items() if k not in held_back}
    replica.requeue(table, newer(mine, theirs))
    push_table(replica, hub, table, replica.outbox_end(), tally, lambda *_: None)
    if wanted := newer(theirs, mine):
        rows = hub.fetch(table, wanted)
        applied = replica.apply(table, rows, None)
        tally.add(table.name, pulled=len(rows), applied=applied.applied)


def newer(these: Mapping[str, Stamp], those: Mapping[str, Stamp]) -> list[str]:
    """Keys whose version in `these` is missing or lower in `those`."""
    return [key for key, stamp in these.items() if key not in those or stamp > those[key]]
