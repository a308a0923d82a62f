"""The contracts of a sync: the two endpoints and the clock. Protocols, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from satchel_sync.changes import (
    Applied,
    Batch,
    Digest,
    Hello,
    Loser,
    Page,
    PushAnswer,
    Row,
    Settled,
    Welcome,
)
from satchel_sync.stamp import Stamp
from satchel_sync.tables.kinds import Table


class Clock(Protocol):
    """The wall clock of a machine."""

    def now_ms(self) -> int:
        """UTC milliseconds."""
        ...


class Hub(Protocol):
    """The warehouse as a replica sees it; every call is committed when it returns."""

    def hello(self, hello: Hello) -> Welcome:
        """Open an attempt. Raises HubRefused, VersionsDiffer, NeedsReconcile, HubUnreachable."""
        ...

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """Merge rows by last write wins; several versions of one key count as their highest."""
        ...

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """The next page with `after < change_seq <= upto`; its delivery is recorded first.

        An empty page has `cursor == upto`.
        """
        ...

    def bound(self) -> Mapping[str, int]:
        """Kind -> the highest change sequence now; whoever sees it can see all below it."""
        ...

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """Kind -> buckets and highest sequence, for the kinds in `without`, in one snapshot.

        Rows with a key in `without[kind]` are left out.
        """
        ...

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets."""
        ...

    def fetch(self, table: Table, keys: Collection[str]) -> Sequence[Row]:
        """Whole rows by key; missing keys are left out."""
        ...

    def journal(self, losers: Sequence[Loser]) -> None:
        """Add to the hub's conflict journal; an entry with the same kind, key, version is kept."""
        ...

    def bye(self, report: Mapping[str, Any]) -> None:
        """Close the attempt with its report."""
        ...


class Replica(Protocol):
    """This machine's own store as a sync sees it; every call is one local transaction."""

    def hello(self) -> Hello:
        """Who we are, with an attempt id that was stored before it is said."""
        ...

    def welcome(self, welcome: Welcome) -> None:
        """Remember the hub. Raises NeedsReconcile when it is not the one of before."""
        ...

    def outbox_end(self) -> int:
        """The highest local sequence given so far: one push sends no more than up to here."""
        ...

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """The next rows of the outbox with `after < local_seq <= upto`, sealed and marked as sent.

        Rows that cannot travel go to the quarantine instead. None when there is nothing more.
        """
        ...

    def settle(
        self, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int
    ) -> Settled:
        """Clear entries whose row still has the version sent; stamp refused or beaten rows anew."""
        ...

    def cursor(self, table: Table) -> int:
        """How far this kind was pulled."""
        ...

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """Merge pulled rows and move the cursor (None = leave it), in one transaction."""
        ...

    def digest(self, table: Table) -> Digest | None:
        """Buckets of what should be at the hub; None while the outbox holds rows of this kind."""
        ...

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets that should be at the hub."""
        ...

    def held_back(self, table: Table) -> Collection[str]:
        """Keys that a digest leaves out on both sides, because the rows of this kind stay here.

        Only keys that a hub can hold; a local row is named only if the hub is known to hold its
        key, so that no other is ever told.
        """
        ...

    def quarantined(self) -> int:
        """How many rows cannot travel as they are."""
        ...

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """Put rows into the outbox again."""
        ...

    def losers(self) -> Sequence[Loser]:
        """Journal entries that the hub does not have yet."""
        ...

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """Mark journal entries as known to the hub."""
        ...

    def record(self, report: Mapping[str, Any]) -> None:
        """Keep the report of this attempt and close it."""
        ...
