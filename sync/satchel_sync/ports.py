"""The contracts of a sync: the two endpoints and the clock. Protocols, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from satchel_sync.changes import (
    Applied,
    AuditAnswer,
    AuditBatch,
    AuditHeld,
    AuditPart,
    Batch,
    Digest,
    Fetched,
    Hello,
    Left,
    Loser,
    Page,
    PushAnswer,
    Reconciling,
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
        """Open an attempt and judge the file's past (`standing.judge`).

        An attempt of a restored file is not opened: it takes a new id and says hello again. Raises
        HubRefused, NeedsReconcile (another hub's file), HubUnreachable.
        """
        ...

    def reconcile(self) -> Reconciling:
        """Begin to reconcile: from now on rows of any origin are taken, and logged as relayed.

        Opens a new epoch if this attempt found the hub set back in the hub's own epoch; the same
        answer when it is asked again.
        """
        ...

    def reconciled(self, seqs: Mapping[str, int]) -> None:
        """The file holds all up to these cursors: they count as delivered, before it sets them."""
        ...

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """Merge rows by last write wins; several versions of one key count as their highest.

        A row whose origin is no id that the tenant knows is refused as `invalid` outside a
        reconcile; a row about a forgotten one is kept as scrubbed. Raises BatchRefused where a row
        is at fault and it cannot be said which, KindRefused where the hub lacks the kind.
        """
        ...

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """The next page with `after < change_seq <= upto`; its delivery is recorded first.

        An empty page has `cursor == upto`, and that counts as delivered too.
        """
        ...

    def bound(self) -> Mapping[str, int]:
        """Kind -> the highest change sequence now; whoever sees it can see all below it.

        An attempt that is closed may ask still: that is how a live sync rests.
        """
        ...

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """Kind -> buckets and highest sequence, for the kinds in `without`, each in one snapshot.

        Rows with a key in `without[kind]` are left out.
        """
        ...

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets."""
        ...

    def fetch(self, table: Table, keys: Sequence[str]) -> Fetched:
        """Whole rows by key, no more than a page holds; missing keys are left out."""
        ...

    def damaged(self, table: Table) -> Collection[str]:
        """Keys of rows whose content does not fit their digest: somebody passed by the triggers.

        Every row is read, and sums that were kept for the digest are dropped.
        """
        ...

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """Put the content back into damaged rows that are held in just this version; how many."""
        ...

    def journal(self, losers: Sequence[Loser]) -> None:
        """Add to the hub's conflict journal; an entry with the same kind, key, version is kept.

        Nothing is kept of a row that was forgotten.
        """
        ...

    def audit(self, parts: Sequence[AuditPart]) -> AuditAnswer:
        """Append records of this replica's chains to what the hub holds; nothing is ever replaced.

        A record that is there already is no event. The first that does not follow ends its chain
        for this call, and is kept as evidence.
        """
        ...

    def bye(self, report: Mapping[str, Any], parts: Sequence[AuditPart] = ()) -> AuditAnswer:
        """Close the attempt with its report; what `audit` takes may come with it.

        A hub that keeps no audit is given no parts.
        """
        ...


class Replica(Protocol):
    """This machine's own store as a sync sees it; every call is one local transaction."""

    def hello(self) -> Hello:
        """Who we are, with an attempt id that was stored before it is said.

        Raises NeedsReconcile for a file that belongs to no hub and yet holds rows of others.
        """
        ...

    def welcome(self, welcome: Welcome) -> None:
        """Remember hub and attempt, and in the same transaction that a reconcile is due if it is.

        Raises NeedsReconcile when it is not the hub of before.
        """
        ...

    def link(self) -> str:
        """The file's link in its chain: the attempt that was last answered, by whatever process."""
        ...

    def succeed(self, why: str) -> None:
        """Take a new id that names the one of before as its predecessor, and a new attempt."""
        ...

    def due(self) -> str:
        """Why this file has to be reconciled with its hub; "" when it has not. Stays until done."""
        ...

    def reconciled(self, done: Reconciling) -> None:
        """Set epoch and cursors, forget why and the last token, in one transaction.

        The hub may not know that token any more; the next push brings another.
        """
        ...

    def outbox_end(self) -> int:
        """The highest local sequence given so far: one push sends no more than up to here."""
        ...

    def unsent(self, upto: int) -> Mapping[str, int]:
        """Kind -> how many outbox entries have `local_seq <= upto`; kinds without are left out."""
        ...

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """The next rows of the outbox with `after < local_seq <= upto`, sealed and marked as sent.

        Rows that cannot travel go to the quarantine instead. None when there is nothing more.
        """
        ...

    def settle(
        self, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int
    ) -> Settled:
        """Clear entries whose row still has the version sent; stamp refused or beaten rows anew.

        Keeps the answer's token in the same transaction.
        """
        ...

    def cursor(self, table: Table) -> int:
        """How far this kind was pulled."""
        ...

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """Merge pulled rows and move the cursor (None = leave it), in one transaction.

        A row about a forgotten one is kept as scrubbed, and what is forgotten takes with it what is
        about it.
        """
        ...

    def digest(self, table: Table, *, settled: bool = True) -> Digest | None:
        """Buckets of what should be at the hub.

        None while the outbox holds rows of this kind, unless `settled` is False.
        """
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

    def held(self, table: Table, keys: Sequence[str]) -> Sequence[Row]:
        """Rows by key as they are held now, sealed; missing and local ones are left out."""
        ...

    def damaged(self, table: Table) -> Collection[str]:
        """Keys of rows whose content does not fit their digest: somebody passed by the triggers.

        Every row is read, and sums that were kept for the digest are dropped.
        """
        ...

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """Put the content back into damaged rows that are held in just this version; how many."""
        ...

    def quarantined(self) -> int:
        """How many rows cannot travel as they are."""
        ...

    def left(self) -> Left:
        """What is still here at the end of a sync: for the report."""
        ...

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """Put rows into the outbox again."""
        ...

    def losers(self) -> Sequence[Loser]:
        """The next journal entries that the hub does not have yet, at most `JOURNAL_MAX`."""
        ...

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """Mark journal entries as known to the hub."""
        ...

    def audit_waiting(
        self, held: Mapping[str, AuditHeld], without: Collection[str] = ()
    ) -> AuditBatch:
        """The next records behind those that the hub holds, bounded; `without` names chains.

        The last record of a chain comes with its signed head, if this machine can sign.
        """
        ...

    def audit_sent(self, held: Mapping[str, AuditHeld]) -> None:
        """Remember how far the hub has the chains: up to there they may be pruned here."""
        ...

    def record(self, report: Mapping[str, Any]) -> None:
        """Keep the report of this attempt, done or failed."""
        ...
