"""All that a hub in memory keeps: rows in hub order, journal, replicas with their chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import Any

from satchel_sync.bundles.peer import Peer
from satchel_sync.changes import Hello, Loser, Reconciling, Row, Standing
from satchel_sync.digest import text_hash
from satchel_sync.in_memory.hub_audit import Audit
from satchel_sync.in_memory.rows import Rows
from satchel_sync.stamp import Stamp
from satchel_sync.tables import KINDS

_numbers = count(1)


def drawn() -> str:
    """32 hex digits that this process never gave before; for tests, so nobody needs to guess."""
    return text_hash(f"drawn {next(_numbers)}")[:32]


@dataclass
class Registered:
    """What a hub knows of one replica id."""

    predecessors: tuple[bytes, ...] = ()
    last_attempt: str = ""
    token_number: int = 0
    delivered: dict[str, int] = field(default_factory=dict)
    must_reconcile: bool = False
    revoked: int = 0
    """The number of the revocation that shut it out; 0 when none did."""

    def copied(self) -> Registered:
        """A copy that shares nothing which changes."""
        return replace(self, delivered=dict(self.delivered))


@dataclass
class Attempt:
    """One attempt: what was said, what was found, and the answer of the reconcile door."""

    hello: Hello
    standing: Standing
    reconciling: Reconciling | None = None

    @property
    def relays(self) -> bool:
        """Whether rows of any origin are taken."""
        moved = self.standing in (Standing.REWOUND, Standing.MOVED)
        return bool(self.hello.reconcile) or moved or self.reconciling is not None


@dataclass
class HubState:
    """Everything that a backup of a hub holds. `seqs` is key -> change sequence, ascending."""

    epoch: str
    hub_id: bytes = b"\xee" * 16
    rows: dict[str, Rows] = field(default_factory=lambda: {kind: Rows(kind) for kind in KINDS})
    seqs: dict[str, dict[str, int]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    last_seq: int = 0
    losers: dict[tuple[str, str, Stamp], Loser] = field(default_factory=dict)
    replicas: dict[bytes, Registered] = field(default_factory=dict)
    attempts: dict[tuple[bytes, str], Attempt] = field(default_factory=dict)
    tokens: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    relayed: dict[tuple[bytes, str, bytes], int] = field(default_factory=dict)
    """(origin, kind, replica id) -> rows that it brought for another in a reconcile."""
    reports: list[Mapping[str, Any]] = field(default_factory=list)
    peers: dict[bytes, Peer] = field(default_factory=dict)
    """Replica id -> what is kept of its bundles."""
    audit: Audit = field(default_factory=Audit)

    def bound(self) -> dict[str, int]:
        """Kind -> the highest change sequence."""
        return {kind: next(reversed(seqs.values()), 0) for kind, seqs in self.seqs.items()}

    def store(self, kind: str, row: Row) -> None:
        """Keep a row under a new change sequence."""
        self.last_seq += 1
        self.rows[kind][row.key] = row
        self.seqs[kind].pop(row.key, None)
        self.seqs[kind][row.key] = self.last_seq

    def registered(self, replica_id: bytes) -> Registered:
        """What is known of an id; nothing is noted of one that never said hello."""
        return self.replicas.get(replica_id) or Registered()

    def register(self, replica_id: bytes) -> Registered:
        """What is known of an id, to be changed."""
        return self.replicas.setdefault(replica_id, Registered())

    def give(self, token: str, replica_id: bytes) -> None:
        """Note a token as given to a replica, later than all before it."""
        self.tokens.setdefault(token, (len(self.tokens) + 1, replica_id))

    def revoke(self, replica_id: bytes) -> None:
        """Refuse a replica from now on, and those that name it as an earlier id of their file."""
        mine = self.register(replica_id)
        mine.revoked = mine.revoked or next(_numbers)
        for one in self._heirs(replica_id):
            one.revoked = one.revoked or mine.revoked

    def take_back(self, replica_id: bytes) -> None:
        """Undo a revocation: the replica, and those shut out with it, have to reconcile."""
        mine = self.register(replica_id)
        number = mine.revoked
        for one in (mine, *self._heirs(replica_id)):
            if number and one.revoked == number:
                one.revoked, one.must_reconcile = 0, True

    def shuts_out(self, replica_id: bytes, predecessors: Sequence[bytes]) -> bool:
        """Whether a file was revoked; of a new id, the newest earlier id that is known decides."""
        known = (self.replicas[one] for one in (replica_id, *predecessors) if one in self.replicas)
        return bool(next((one.revoked for one in known), 0))

    def _heirs(self, replica_id: bytes) -> list[Registered]:
        return [one for one in self.replicas.values() if replica_id in one.predecessors]

    def copied(self) -> HubState:
        """A copy that shares nothing which changes."""
        return replace(
            self,
            rows={kind: rows.copied() for kind, rows in self.rows.items()},
            seqs={kind: dict(seqs) for kind, seqs in self.seqs.items()},
            losers=dict(self.losers),
            replicas={one: replica.copied() for one, replica in self.replicas.items()},
            attempts={key: replace(attempt) for key, attempt in self.attempts.items()},
            tokens=dict(self.tokens),
            relayed=dict(self.relayed),
            reports=list(self.reports),
            peers={one: peer.copied() for one, peer in self.peers.items()},
            audit=self.audit.copied(),
        )

    def become(self, other: HubState) -> None:
        """Be a copy of another state, for everybody who holds this one."""
        copied = other.copied()
        for one in fields(HubState):
            setattr(self, one.name, getattr(copied, one.name))
