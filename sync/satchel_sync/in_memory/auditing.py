"""Audit chains of a replica in memory: what it notes, and what of that waits for the hub."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from satchel_sync import limits
from satchel_sync.audit import CHAINS
from satchel_sync.changes import AuditBatch, AuditHead, AuditHeld, AuditPart, AuditRecord
from satchel_sync.digest import audit_link
from satchel_sync.in_memory.file import File
from satchel_sync.ports import Clock


class Auditing:
    """The chains of a file."""

    file: File
    clock: Clock

    def note(self, chain: str, action: str, detail: Mapping[str, object] | None = None) -> None:
        """Append a record that says so."""
        records = self.file.audit.setdefault(chain, [])
        last = AuditHeld(records[-1].seq, records[-1].link) if records else AuditHeld()
        body = json.dumps(
            {
                "chain": chain,
                "replica_id": self.file.replica_id.hex(),
                "seq": last.seq + 1,
                "at": self.clock.now_ms(),
                "action": action,
                "rows": [],
                "detail": dict(detail or {}),
            },
            sort_keys=True,
        )
        records.append(AuditRecord(last.seq + 1, body, audit_link(last.link, body), bytes(32)))

    def _begin_chains(self) -> None:
        """Under a new id each chain begins anew: its first record names the end of the old one."""
        before, self.file.audit, self.file.audit_sent = self.file.audit, {}, {}
        for chain, records in before.items():
            if records:
                last = {"seq": records[-1].seq, "link": records[-1].link.hex()}
                self.note(chain, "began", last)

    def prune(self, chain: str, upto: int) -> None:
        """Remove records up to a number; the chain tells of it."""
        cut = self.file.audit[chain][upto - self.file.audit[chain][0].seq]
        self.note(chain, "rotated", {"seq": cut.seq, "link": cut.link.hex()})
        self.file.audit[chain] = [one for one in self.file.audit[chain] if one.seq > upto]

    def audit_waiting(
        self, held: Mapping[str, AuditHeld], without: Collection[str] = ()
    ) -> AuditBatch:
        """See `Replica.audit_waiting`."""
        parts: list[AuditPart] = []
        room, more = limits.AUDIT_ROWS_MAX, False
        for chain in CHAINS:
            records = self.file.audit.get(chain, [])
            theirs = held.get(chain, AuditHeld())
            if chain in without:
                continue
            if not records or theirs.seq > records[-1].seq:
                if theirs.seq:
                    parts.append(AuditPart(chain, tuple(records[-1:]), self._head(records)))
                continue
            due = [one for one in records if one.seq > theirs.seq]
            forked = [one for one in records if one.seq == theirs.seq and one.link != theirs.link]
            some = tuple([*forked, *due][:room])
            room -= len(some)
            more = more or len(some) < len(forked) + len(due)
            if some:
                parts.append(self._part(chain, some, records, theirs))
        return AuditBatch(tuple(parts), more)

    def audit_sent(self, held: Mapping[str, AuditHeld]) -> None:
        """See `Replica.audit_sent`."""
        self.file.audit_sent.update({chain: one.seq for chain, one in held.items()})

    def _part(
        self,
        chain: str,
        some: tuple[AuditRecord, ...],
        records: list[AuditRecord],
        theirs: AuditHeld,
    ) -> AuditPart:
        whole = some[-1] is records[-1]
        cut = None
        if some[0].seq > theirs.seq + 1:
            cut = next(one for one in reversed(records) if '"action": "rotated"' in one.body)
        return AuditPart(chain, some, self._head(records) if whole else None, cut)

    def _head(self, records: Sequence[AuditRecord]) -> AuditHead:
        """A model signs nothing: it only names a key."""
        last = AuditHeld(records[-1].seq, records[-1].link) if records else AuditHeld()
        key = {"algorithm": "none", "public_key": self.file.audit_key}
        return AuditHead(last.seq, last.link, self.clock.now_ms(), json.dumps(key))
