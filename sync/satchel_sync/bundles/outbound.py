"""Making parcels: what a replica has for the hub, and what the hub has for a replica."""

from __future__ import annotations

from collections.abc import Iterator

from satchel_sync.bundles.codec import travels
from satchel_sync.bundles.parcel import Head, Losers, Parcel, ParcelKind, Part, Rows, Versions
from satchel_sync.bundles.ports import Carrier, Depot
from satchel_sync.digest import BUCKETS
from satchel_sync.limits import BUCKETS_AT_ONCE
from satchel_sync.progress import Progress, silent
from satchel_sync.tables import BY_NAME, COLUMN_TAGS, TABLES


def export_push(carrier: Carrier, progress: Progress = silent) -> Parcel:
    """What this replica has for the hub, in memory. Rows are marked as sent, none is cleared."""
    return pushing(carrier, progress).kept()


def pushing(carrier: Carrier, progress: Progress = silent) -> Parcel:
    """The same, with parts that are read from the replica as they are run through, once."""
    return Parcel(Head.of(carrier.identity()), _to_hub(carrier, progress))


def export_for(depot: Depot, replica_id: bytes, progress: Progress = silent) -> Parcel:
    """What the hub has for a replica, in memory; it counts as delivered."""
    return dispatching(depot, replica_id, progress).kept()


def dispatching(depot: Depot, replica_id: bytes, progress: Progress = silent) -> Parcel:
    """The same, with parts that are read from the hub as they are run through, once."""
    head = depot.dispatch(replica_id)
    return Parcel(head, _to_replica(depot, head, progress))


def _to_hub(carrier: Carrier, progress: Progress) -> Iterator[Part]:
    """The outbox as it stands, then journal entries that the hub does not have."""
    upto = carrier.outbox_end()
    for table in TABLES:
        after = 0
        while batch := carrier.outgoing(table, after, upto):
            after = batch.last_seq
            progress("export", table.name, after, upto)
            if batch.rows:
                yield Rows(table.name, batch.rows)
    losers = tuple(one for one in carrier.losers() if travels(COLUMN_TAGS, one))
    if losers:
        yield Losers(losers)


def _to_replica(depot: Depot, head: Head, progress: Progress) -> Iterator[Part]:
    """Receipts first, so that an outbox is cleared before rows meet it."""
    yield from depot.receipts()
    if head.kind is ParcelKind.MANIFEST:
        yield from _manifest(depot, head, progress)
    else:
        yield from _rows(depot, head, progress)


def _rows(depot: Depot, head: Head, progress: Progress) -> Iterator[Part]:
    for kind, upto in head.reach.items():
        after = head.base.get(kind, 0)
        while after < upto:
            page = depot.hub.pull(BY_NAME[kind], after, upto)
            after = page.cursor
            progress("export", kind, after, upto)
            if page.rows:
                yield Rows(kind, page.rows)


def _manifest(depot: Depot, head: Head, progress: Progress) -> Iterator[Part]:
    for kind in head.reach:
        for start in range(0, BUCKETS, BUCKETS_AT_ONCE):
            buckets = tuple(range(start, start + BUCKETS_AT_ONCE))
            progress("export", kind, start, BUCKETS)
            yield Versions(kind, buckets, tuple(depot.versions(BY_NAME[kind], buckets)))
