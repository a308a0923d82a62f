"""What travels: rows, pages, answers. Frozen values that both endpoints and the wire share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from satchel_sync.row import Row, Version
from satchel_sync.stamp import Stamp

__all__ = [
    "Applied",
    "Batch",
    "Digest",
    "Hello",
    "Loser",
    "Manifest",
    "Page",
    "PushAnswer",
    "Refusal",
    "Row",
    "Rows",
    "Settled",
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


@dataclass(frozen=True, slots=True)
class Hello:
    """What a replica says first. `columns` are kind -> {name: tag} as this side knows them."""

    replica_id: bytes
    attempt: str
    protocol: int
    schema: int
    columns: Mapping[str, Mapping[str, str]]
    hub_id: bytes | None = None
    host: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the hub answers; `seqs` is kind -> highest change sequence that may be pulled now."""

    hub_id: bytes
    protocol: int
    schema: int
    columns: Mapping[str, Mapping[str, str]]
    seqs: Mapping[str, int]
    now_ms: int
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that the hub did not take: `future` (to be stamped anew), `scrubbed` or `invalid`."""

    key: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """The hub's word on one pushed batch, committed before it is given.

    `accepted`: keys whose pushed version the hub now holds (also when it held it before);
    `superseded`: key -> the version the hub keeps instead; `refused`: rows left out, with reasons;
    `conflicts`: how many losers the hub wrote to its journal; `now_ms`: the hub's clock.
    """

    accepted: tuple[str, ...]
    superseded: Mapping[str, Version] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    conflicts: int = 0
    now_ms: int = 0
    bytes_out: int = 0


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

    `values` as in `Row`; `path` tells where the two met (`push`, `pull`).
    """

    kind: str
    row: Row
    winner: Stamp
    path: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Keys and stamps of some buckets of one kind."""

    versions: Mapping[str, Stamp]


Rows = Sequence[Row]
