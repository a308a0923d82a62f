"""Both sides of a kind compared bucket by bucket, then key by key; what differs is exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from satchel_sync.changes import Digest
from satchel_sync.limits import BUCKETS_AT_ONCE, FETCH_KEYS_MAX
from satchel_sync.ports import Hub, Replica
from satchel_sync.stamp import Stamp
from satchel_sync.tables import Table
from satchel_sync.tally import Tally

Item = TypeVar("Item")


def differing(mine: Digest, theirs: Digest) -> list[int]:
    """Buckets with another count or sum on the two sides."""
    buckets = mine.buckets.keys() | theirs.buckets.keys()
    return sorted(b for b in buckets if mine.buckets.get(b) != theirs.buckets.get(b))


def level(
    replica: Replica, hub: Hub, table: Table, buckets: Sequence[int], tally: Tally
) -> list[str]:
    """Queue what is newer here, fetch what is newer there; returns the keys that differed.

    The caller pushes what is queued. Some buckets at a time, so that memory stays bounded.
    """
    found: list[str] = []
    for some in parts(buckets, BUCKETS_AT_ONCE):
        ahead, behind = differences(replica, hub, table, some)
        replica.requeue(table, ahead)
        fetch(replica, hub, table, behind, tally)
        found += [*ahead, *behind]
    return found


def unlike(replica: Replica, hub: Hub, table: Table, buckets: Sequence[int]) -> list[str]:
    """Keys of these buckets whose version differs; nothing is exchanged."""
    found: list[str] = []
    for some in parts(buckets, BUCKETS_AT_ONCE):
        ahead, behind = differences(replica, hub, table, some)
        found += [*ahead, *behind]
    return found


def differences(
    replica: Replica, hub: Hub, table: Table, buckets: Sequence[int]
) -> tuple[list[str], list[str]]:
    """(keys newer here, keys newer there) of these buckets; rows that stay here are left out."""
    mine = replica.manifest(table, buckets)
    stay = set(replica.held_back(table))
    theirs = {k: s for k, s in hub.manifest(table, buckets).items() if k not in stay}
    return newer(mine, theirs), newer(theirs, mine)


def fetch(replica: Replica, hub: Hub, table: Table, keys: Sequence[str], tally: Tally) -> None:
    """Fetch rows by key and apply them; no cursor moves."""
    for some in parts(keys, FETCH_KEYS_MAX):
        wanted = tuple(some)
        while wanted:
            fetched = hub.fetch(table, wanted)
            applied = replica.apply(table, fetched.rows, None)
            tally.add(table.name, pulled=len(fetched.rows), applied=applied.applied)
            tally.conflicts += applied.conflicts
            tally.bytes_in += fetched.bytes_in
            wanted = fetched.rest


def newer(these: Mapping[str, Stamp], those: Mapping[str, Stamp]) -> list[str]:
    """Keys whose version in `these` is missing or lower in `those`."""
    return [key for key, stamp in these.items() if key not in those or stamp > those[key]]


def parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """`items` in runs of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))
