"""The contracts of bundles: a hub and a replica as parcels meet them. Protocols, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from satchel_sync.bundles.parcel import Entry, Head, Receipts
from satchel_sync.changes import Hello
from satchel_sync.ports import Hub, Replica
from satchel_sync.tables.kinds import Table


class Carrier(Replica, Protocol):
    """A replica that can be synced by bundles. What it applies is journaled under path `bundle`."""

    def identity(self) -> Hello:
        """Who we are, as `hello` says it, but without an attempt: none is drawn or stored.

        Raises NeedsReconcile for a file that belongs to no hub and yet holds rows of others.
        """
        ...

    def met(self, hub_id: bytes, epoch: str) -> None:
        """Remember a hub that a file knew none of before; the epoch only if nothing is due."""
        ...

    def received(self, token: str, after: str) -> None:
        """Keep the token if the one held is `after`."""
        ...


class Depot(Protocol):
    """The hub as bundles meet it; every call is committed when it returns.

    `unpack` or `dispatch` opens a visit on behalf of one replica, which the other calls belong to.
    A visit is no link of that replica's chain of attempts.
    """

    @property
    def hub(self) -> Hub:
        """The hub's doors `push`, `journal` and `pull` on behalf of this visit's replica."""
        ...

    def unpack(self, head: Head) -> str:
        """Begin to take a push in: register the sender, judge its past by what the head names.

        Returns what was found, in words: "" or why the replica has to reconcile, which the hub
        remembers until it has. Evidence that the hub was set back opens a new epoch. Raises
        HubRefused (revoked, another login's), NeedsReconcile (another hub's), VersionsDiffer.
        """
        ...

    def keep(self, receipts: Receipts) -> None:
        """Keep receipts until the replica names a token that was given later."""
        ...

    def unpacked(self, head: Head, report: Mapping[str, Any]) -> None:
        """The parcel was taken in to its end: the next export starts at its cursors."""
        ...

    def dispatch(self, replica_id: bytes) -> Head:
        """Begin an export: draw its token, write down that all up to its reach is delivered.

        The head is of kind `pull`, `ack` if no rows are due, `manifest` if the replica has to
        reconcile. Raises HubRefused for a replica that is unknown or revoked.
        """
        ...

    def receipts(self) -> Iterator[Receipts]:
        """All receipts that are kept for this replica."""
        ...

    def versions(self, table: Table, buckets: Collection[int]) -> Sequence[Entry]:
        """Every row of a kind in these buckets, without content."""
        ...
