"""A parcel: what one bundle carries, as frozen values. The file format is in `format` and `codec`.

Four kinds: `push` from a replica to the hub; `pull`, `ack` (no rows are due) and `manifest` (the
replica has to reconcile) from the hub to a replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from satchel_sync.changes import Hello, Loser, Row, Version
from satchel_sync.stamp import Stamp


class ParcelKind(StrEnum):
    """What a parcel is for."""

    PUSH = "push"
    PULL = "pull"
    ACK = "ack"
    MANIFEST = "manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Who sends what to whom.

    `sender` and `recipient` are 16 bytes: a replica's id and the hub's (empty in a push of a file
    that never met a hub). `base` is kind -> change sequence: how far a push's sender has pulled; in
    the other kinds where the rows begin. `reach` is where they end (a push has none).

    `token` is the last one that the sender of a push received; the other kinds bring a new one, and
    name in `after` the one that the replica had named: only a file that still holds that one takes
    the new one, so an old bundle never sets it back.
    """

    kind: ParcelKind
    sender: bytes
    recipient: bytes
    epoch: str
    base: Mapping[str, int]
    protocol: int
    schema: int
    columns: Mapping[str, Mapping[str, str]]
    reach: Mapping[str, int] = field(default_factory=dict)
    token: str = ""
    after: str = ""
    predecessors: tuple[bytes, ...] = ()
    last_attempt: str = ""
    reconcile: str = ""
    host: str = ""
    version: str = ""

    @property
    def hub_id(self) -> bytes | None:
        """The hub's end; None where the sender knows none."""
        return (self.recipient if self.kind is ParcelKind.PUSH else self.sender) or None

    @property
    def replica_id(self) -> bytes:
        """The replica's end."""
        return self.sender if self.kind is ParcelKind.PUSH else self.recipient

    @staticmethod
    def of(hello: Hello) -> Head:
        """The head of a push by a replica that would say this hello."""
        return Head(
            kind=ParcelKind.PUSH,
            sender=hello.replica_id,
            recipient=hello.hub_id or b"",
            epoch=hello.epoch,
            base=dict(hello.cursors),
            protocol=hello.protocol,
            schema=hello.schema,
            columns=hello.columns,
            token=hello.token,
            predecessors=hello.predecessors,
            last_attempt=hello.last_attempt,
            reconcile=hello.reconcile,
            host=hello.host,
            version=hello.version,
        )

    def hello(self) -> Hello:
        """Inverse of `of`; a bundle is no attempt, so it has none."""
        return Hello(
            replica_id=self.sender,
            attempt="",
            protocol=self.protocol,
            schema=self.schema,
            columns=self.columns,
            hub_id=self.hub_id,
            epoch=self.epoch,
            predecessors=self.predecessors,
            last_attempt=self.last_attempt,
            token=self.token,
            cursors=self.base,
            reconcile=self.reconcile,
            host=self.host,
            version=self.version,
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind: in a push as the outbox gives them, else in hub order."""

    kind: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Losers:
    """Entries of a replica's conflict journal."""

    losers: tuple[Loser, ...]


class Verdict(StrEnum):
    """What the hub did with something that a bundle brought."""

    ACCEPTED = "accepted"
    SUPERSEDED = "superseded"
    REFUSED = "refused"
    JOURNALED = "journaled"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The hub's word on one version that a bundle brought.

    `winner` is the version that the hub keeps instead (superseded), `reason` and `detail` those of
    a `Refusal`; `now_ms` was the hub's clock.
    """

    key: str
    stamp: Stamp
    verdict: Verdict
    now_ms: int
    winner: Version | None = None
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Receipts:
    """Receipts of one kind."""

    kind: str
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row that the hub holds, without its content; `seq` is its change sequence."""

    key: str
    stamp: Stamp
    seq: int


@dataclass(frozen=True, slots=True)
class Versions:
    """All that the hub holds of one kind in these buckets; parts of the same buckets add up."""

    kind: str
    buckets: tuple[int, ...]
    entries: tuple[Entry, ...]


Part = Rows | Losers | Receipts | Versions


@dataclass(frozen=True, slots=True)
class Parcel:
    """A head and its parts; whether they can be run through twice is the maker's affair."""

    head: Head
    parts: Iterable[Part]

    def kept(self) -> Parcel:
        """The same with all parts in memory."""
        return replace(self, parts=tuple(self.parts))
