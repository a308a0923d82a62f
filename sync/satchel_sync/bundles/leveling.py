"""A replica that has to reconcile, and the hub's manifest: who lacks what, bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from satchel_sync.bundles.parcel import Entry, Head, Part, Versions
from satchel_sync.bundles.ports import Carrier
from satchel_sync.changes import Reconciling
from satchel_sync.phases.compare import newer
from satchel_sync.tables import BY_NAME


@dataclass
class Lacking:
    """Kind -> the lowest change sequence of a row that the replica lacks or holds lower."""

    first: dict[str, int] = field(default_factory=dict)

    def note(self, kind: str, seq: int) -> None:
        """One more row that is lacking."""
        self.first[kind] = min(seq, self.first.get(kind, seq))

    def reconciled(self, head: Head) -> Reconciling:
        """The cursors from which the replica gets all that it lacks, and the hub's epoch."""
        seqs = {
            kind: min(reach, self.first.get(kind, reach + 1) - 1)
            for kind, reach in head.reach.items()
            if kind in BY_NAME
        }
        return Reconciling(head.epoch, seqs)


def level(carrier: Carrier, part: Versions, found: Lacking) -> None:
    """Queue what the hub lacks, note what it holds newer; rows that stay here are left out."""
    table = BY_NAME[part.kind]
    stay = set(carrier.held_back(table))
    theirs = {entry.key: entry for entry in part.entries if entry.key not in stay}
    stamps = {key: entry.stamp for key, entry in theirs.items()}
    mine = carrier.manifest(table, part.buckets)
    carrier.requeue(table, newer(mine, stamps))
    for key in newer(stamps, mine):
        found.note(part.kind, theirs[key].seq)


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The same parts, with neighbours that are versions of the same buckets made one."""
    held: Versions | None = None
    more: list[Entry] = []
    for part in parts:
        alike = (
            isinstance(part, Versions)
            and held is not None
            and (part.kind, part.buckets) == (held.kind, held.buckets)
        )
        if alike and isinstance(part, Versions):
            more += part.entries
            continue
        if held is not None:
            yield Versions(held.kind, held.buckets, tuple(more))
        held, more = (part, list(part.entries)) if isinstance(part, Versions) else (None, [])
        if held is None:
            yield part
    if held is not None:
        yield Versions(held.kind, held.buckets, tuple(more))
