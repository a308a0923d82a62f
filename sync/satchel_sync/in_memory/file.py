"""All that the file of a replica in memory keeps; a copy of it is a backup, or a clone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from satchel_sync.changes import AuditRecord, Loser, Row
from satchel_sync.in_memory.rows import Rows
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import KINDS


@dataclass
class Kept:
    """What a replica keeps of one row kind; `outbox` is key -> local sequence, ascending."""

    rows: Rows
    outbox: dict[str, int] = field(default_factory=dict)
    bases: dict[str, Stamp] = field(default_factory=dict)
    quarantine: dict[str, str] = field(default_factory=dict)
    cursor: int = 0

    def copied(self) -> Kept:
        """A copy that shares nothing which changes."""
        return Kept(
            self.rows.copied(),
            dict(self.outbox),
            dict(self.bases),
            dict(self.quarantine),
            self.cursor,
        )

    def unsent(self, key: str) -> bool:
        """Whether the hub can't have the version held."""
        return key in self.outbox or key in self.quarantine


@dataclass
class File:
    """Everything in the database of a replica."""

    replica_id: bytes
    hub_id: bytes | None = None
    epoch: str = ""
    attempt: str = ""
    last_attempt: str = ""
    token: str = ""
    predecessors: tuple[bytes, ...] = ()
    due: str = ""
    last_hlc: int = 0
    last_seq: int = 0
    kinds: dict[str, Kept] = field(
        default_factory=lambda: {kind: Kept(Rows(kind)) for kind in KINDS}
    )
    losers: dict[tuple[str, str, Stamp], Loser] = field(default_factory=dict)
    losers_sent: set[tuple[str, str, Stamp]] = field(default_factory=set)
    reports: list[Mapping[str, Any]] = field(default_factory=list)
    audit: dict[str, list[AuditRecord]] = field(default_factory=dict)
    audit_sent: dict[str, int] = field(default_factory=dict)
    audit_key: str = "a key"

    def copied(self) -> File:
        """A copy that shares nothing which changes."""
        return replace(
            self,
            kinds={kind: kept.copied() for kind, kept in self.kinds.items()},
            losers=dict(self.losers),
            losers_sent=set(self.losers_sent),
            reports=list(self.reports),
            audit={chain: list(records) for chain, records in self.audit.items()},
            audit_sent=dict(self.audit_sent),
        )

    def queue(self, kind: str, key: str) -> None:
        """Put a row at the end of the outbox."""
        self.last_seq += 1
        outbox = self.kinds[kind].outbox
        outbox.pop(key, None)
        outbox[key] = self.last_seq

    def hold(self, kind: str, row: Row) -> None:
        """Keep a row that is to be sent."""
        kept = self.kinds[kind]
        kept.rows[row.key] = row
        kept.quarantine.pop(row.key, None)
        self.queue(kind, row.key)

    @property
    def foreign(self) -> bool:
        """Whether it holds rows that no id of this file wrote."""
        mine = {self.replica_id, *self.predecessors, SCRUBBED.origin}
        rows = (row for kept in self.kinds.values() for row in kept.rows.values())
        return any(row.stamp.origin not in mine for row in rows)
