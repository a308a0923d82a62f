"""What travels: rows, pages, answers. Frozen values that both endpoints and the wire share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from satchel_sync.audit import AuditAnswer, AuditBatch, AuditHead, AuditHeld, AuditPart, AuditRecord
from satchel_sync.row import Row, Version
from satchel_sync.stamp import Stamp

__all__ = [
    "Access",
    "Applied",
    "AuditAnswer",
    "AuditBatch",
    "AuditHead",
    "AuditHeld",
    "AuditPart",
    "AuditRecord",
    "Batch",
    "Digest",
    "Fetched",
    "Hello",
    "Loser",
    "Page",
    "PushAnswer",
    "Reconciling",
    "Refusal",
    "Row",
    "Settled",
    "Standing",
    "Version",
    "Welcome",
]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows taken from an outbox in the order of their local sequence, up to and with `last_seq`."""

    rows: tuple[Row, ...]
    last_seq: int
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one kind in hub order; after them the cursor stands at `cursor`."""

    rows: tuple[Row, ...]
    cursor: int
    bytes_in: int = 0


class Standing(StrEnum):
    """What a hub finds when it compares a file's past with its own (`standing.py`)."""

    KNOWN = "known"
    """The file's last link is the hub's: go on, or retry."""
    RESTORED = "restored"
    """The hub knows more of this id than the file does: it is an older copy, or a second one."""
    REWOUND = "rewound"
    """The file knows what the hub does not: the hub was set back to a backup."""
    MOVED = "moved"
    """The hub is in another epoch than the file, or took the replica back: reconcile."""


class Access(StrEnum):
    """What a hub lets a program of this protocol and schema do."""

    OK = "ok"
    READ_ONLY = "read_only"
    """It may pull; what it writes would lose columns that the hub needs."""
    UPGRADE_REQUIRED = "upgrade_required"


@dataclass(frozen=True, slots=True)
class Hello:
    """What a replica says first. `columns` are kind -> {name: tag} as this side knows them.

    `attempt` is a random id stored before it is said, and said again until it is answered;
    `last_attempt` the last one that was, `token` the last that a push answer or an ack carried,
    `cursors` kind -> how far pulled; "" and nothing before the first. `predecessors` are the
    earlier ids of this file, newest first. `succeeded` says why it took the present one since the
    last answer, `reconcile` why this file has to be reconciled, "" where there is nothing to say.
    """

    replica_id: bytes
    attempt: str
    protocol: int
    schema: int
    columns: Mapping[str, Mapping[str, str]]
    hub_id: bytes | None = None
    epoch: str = ""
    predecessors: tuple[bytes, ...] = ()
    last_attempt: str = ""
    token: str = ""
    cursors: Mapping[str, int] = field(default_factory=dict)
    succeeded: str = ""
    reconcile: str = ""
    host: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the hub answers; `seqs` is kind -> highest change sequence that may be pulled now.

    `epoch` names the time between two restores of the hub; 16 hex digits. `audit` is chain -> the
    last record that it holds of this replica id; None from a hub that keeps no audit.
    """

    hub_id: bytes
    protocol: int
    schema: int
    columns: Mapping[str, Mapping[str, str]]
    seqs: Mapping[str, int]
    now_ms: int
    standby: bool = False
    epoch: str = ""
    standing: Standing = Standing.KNOWN
    access: Access = Access.OK
    audit: Mapping[str, AuditHeld] | None = None


@dataclass(frozen=True, slots=True)
class Reconciling:
    """The hub's word on a reconcile that begins: its epoch, and the cursors that it will end at."""

    epoch: str
    seqs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that the hub did not take: `future` (to be stamped anew) or `invalid`."""

    key: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """The hub's word on one pushed batch, committed before it is given.

    `accepted`: keys whose pushed version the hub now holds (also when it held it before);
    `superseded`: key -> the version the hub keeps instead; `refused`: rows left out, with reasons;
    `conflicts`: how many losers the hub wrote to its journal; `now_ms`: the hub's clock;
    `token`: random, committed with the rows: who names it later proves that this was received.
    """

    accepted: tuple[str, ...]
    superseded: Mapping[str, Version] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    conflicts: int = 0
    now_ms: int = 0
    bytes_out: int = 0
    token: str = ""

    def joined(self, later: PushAnswer) -> PushAnswer:
        """This answer and a later one, as one."""
        return PushAnswer(
            accepted=self.accepted + later.accepted,
            superseded={**self.superseded, **later.superseded},
            refused=self.refused + later.refused,
            conflicts=self.conflicts + later.conflicts,
            now_ms=max(self.now_ms, later.now_ms),
            bytes_out=self.bytes_out + later.bytes_out,
            token=later.token or self.token,
        )


@dataclass(frozen=True, slots=True)
class Settled:
    """What a replica did with a push answer: rows stamped anew (to be sent again), conflicts."""

    restamped: int = 0
    conflicts: int = 0
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Applied:
    """What a replica did with a page."""

    applied: int = 0
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class Digest:
    """Count and sum of one kind in one snapshot: bucket -> (rows, sum mod 2^64).

    At the hub `seq` is the highest change sequence of the kind; on a replica its pull cursor.
    """

    seq: int
    buckets: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Loser:
    """A version that lost to a concurrent one: an entry of the conflict journal.

    `values` as in `Row`; `path` tells where the two met (`push`, `pull`, `bundle`, `reconcile`).
    """

    kind: str
    row: Row
    winner: Stamp
    path: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Left:
    """What is still on a replica at the end of a sync.

    `held_back` is kind -> rows in quarantine, of kinds that have any; `oldest_unsent_s` the age in
    seconds of the oldest row that waits, by the time inside its stamp; None when none waits.
    """

    held_back: Mapping[str, int]
    oldest_unsent_s: float | None


@dataclass(frozen=True, slots=True)
class Fetched:
    """Whole rows asked for by key, as many as fit a page; `rest` are the keys to ask for again."""

    rows: tuple[Row, ...]
    rest: tuple[str, ...] = ()
    bytes_in: int = 0
