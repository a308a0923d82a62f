"""A hub in a dict as bundles meet it: for tests and the simulation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from satchel_sync.bundles.parcel import Entry, Head, ParcelKind, Receipts
from satchel_sync.bundles.peer import Judgement, Peer, due_rows, weigh
from satchel_sync.changes import Standing
from satchel_sync.digest import bucket_of
from satchel_sync.errors import HubRefused, NeedsReconcile, VersionsDiffer
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.hub_identity import known_of
from satchel_sync.in_memory.hub_state import Attempt, HubState, Registered
from satchel_sync.tables import COLUMN_TAGS, Table
from satchel_sync.version import PROTOCOL, PROTOCOL_MIN, SCHEMA, SCHEMA_MIN


class MemoryDepot:
    """A visit of one replica's bundle; `hub` is a connection of its own to the hub in memory."""

    def __init__(self, hub: MemoryHub) -> None:
        self.hub = hub.connect()
        self.judged: Judgement | None = None
        self.visitor = b""

    @property
    def state(self) -> HubState:
        """What the hub keeps."""
        return self.hub.state

    def unpack(self, head: Head) -> str:
        """See `Depot.unpack`."""
        self._require(head)
        hello, peer = head.hello(), self._peer(head.sender)
        mine = self.state.register(head.sender)
        known, named = known_of(self.state, hello), self._named(head)
        judged = weigh(head, known, peer, named, mine.token_number)
        self.judged = judged
        if judged.reason:
            mine.must_reconcile = True
            if judged.standing is Standing.REWOUND and head.epoch == self.state.epoch:
                self.state.epoch = self.hub.draw()[:16]
        mine.token_number = max(mine.token_number, named)
        mine.predecessors = mine.predecessors or head.predecessors
        self._visit(head, Standing.MOVED if judged.relays else Standing.KNOWN)
        return judged.reason

    def keep(self, receipts: Receipts) -> None:
        """See `Depot.keep`."""
        peer, number = self._peer(self.visitor), len(self.state.tokens)
        for one in receipts.receipts:
            peer.receipts[receipts.kind, one.key, one.stamp] = (number, one)

    def unpacked(self, head: Head, report: Mapping[str, Any]) -> None:
        """See `Depot.unpacked`."""
        peer = self._peer(head.sender)
        peer.cursors, peer.token = dict(head.base), head.token
        levels = self.judged is not None and self.judged.levels
        if levels or not self.state.registered(head.sender).must_reconcile:
            peer.levelled = True
        if levels:
            for one in (head.sender, *head.predecessors):
                self.state.register(one).must_reconcile = False
            self._adopt_link(head)
        self.state.reports.append(report)

    def dispatch(self, replica_id: bytes) -> Head:
        """See `Depot.dispatch`."""
        mine, peer = self._known(replica_id), self._peer(replica_id)
        reach, token = self.state.bound(), self.hub.draw()
        self.state.give(token, replica_id)
        number = self.state.tokens[token][0]
        kind = ParcelKind.PULL if due_rows(peer.cursors, reach) else ParcelKind.ACK
        if mine.must_reconcile:
            kind, peer.manifest, peer.levelled = ParcelKind.MANIFEST, number, False
        for name, seq in reach.items():
            mine.delivered[name] = max(mine.delivered.get(name, 0), seq)
        given = peer.receipts.items()
        peer.receipts = {at: kept for at, kept in given if kept[0] >= mine.token_number}
        head = Head(
            kind=kind,
            sender=self.state.hub_id,
            recipient=replica_id,
            epoch=self.state.epoch,
            base=dict(peer.cursors),
            reach=reach,
            token=token,
            after=peer.token,
            protocol=PROTOCOL,
            schema=SCHEMA,
            columns=COLUMN_TAGS,
        )
        self._visit(head, Standing.KNOWN)
        return head

    def receipts(self) -> Iterator[Receipts]:
        """See `Depot.receipts`."""
        for (kind, _, _), (_, receipt) in sorted(
            self._peer(self.visitor).receipts.items(), key=lambda kept: kept[0]
        ):
            yield Receipts(kind, (receipt,))

    def versions(self, table: Table, buckets: Collection[int]) -> Sequence[Entry]:
        """See `Depot.versions`."""
        rows, seqs = self.state.rows[table.name], self.state.seqs[table.name]
        return [
            Entry(key, rows[key].stamp, seqs[key])
            for key in rows
            if bucket_of(table.name, key) in buckets
        ]

    def _require(self, head: Head) -> None:
        """Raises what `unpack` raises."""
        if head.hub_id not in (None, self.state.hub_id):
            raise NeedsReconcile(
                f"this replica belongs to the warehouse {head.recipient.hex()}, this one is"
                f" {self.state.hub_id.hex()}"
            )
        if not PROTOCOL_MIN <= head.protocol <= PROTOCOL or head.schema < SCHEMA_MIN:
            raise VersionsDiffer("the bundle was written by another version of satchel")
        if self.state.shuts_out(head.sender, head.predecessors):
            raise HubRefused("this replica was revoked")

    def _known(self, replica_id: bytes) -> Registered:
        if replica_id not in self.state.replicas or self.state.registered(replica_id).revoked:
            raise HubRefused(f"the warehouse does not know the replica {replica_id.hex()}")
        return self.state.register(replica_id)

    def _peer(self, replica_id: bytes) -> Peer:
        return self.state.peers.setdefault(replica_id, Peer())

    def _named(self, head: Head) -> int:
        number, owner = self.state.tokens.get(head.token, (0, b""))
        return number if owner in (head.sender, *head.predecessors) else 0

    def _adopt_link(self, head: Head) -> None:
        """After a reconcile the chain of the file is the hub's."""
        key = (head.sender, head.last_attempt)
        if head.last_attempt and key not in self.state.attempts:
            hello = replace(head.hello(), attempt=head.last_attempt)
            self.state.attempts[key] = Attempt(hello, Standing.KNOWN)
            self.state.register(head.sender).last_attempt = head.last_attempt

    def _visit(self, head: Head, standing: Standing) -> None:
        """Let the hub's doors work for this replica, in an attempt that is no link of its chain."""
        self.visitor = head.replica_id
        hello = replace(
            head.hello(),
            replica_id=head.replica_id,
            attempt=f"bundle {self.hub.draw()}",
            hub_id=self.state.hub_id,
        )
        self.state.attempts[hello.replica_id, hello.attempt] = Attempt(hello, standing)
        self.hub.said = hello
