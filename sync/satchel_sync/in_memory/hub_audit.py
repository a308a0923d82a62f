"""Audit chains of a hub in memory: appended if they follow, kept as evidence if they do not."""

from __future__ import annotations

from dataclasses import dataclass, field

from satchel_sync.audit import (
    CHAIN,
    CHAINS,
    FORK,
    GAP,
    HEAD,
    KEY,
    LINK,
    SHAPE,
    cut_of,
    is_anew,
    said,
    why,
)
from satchel_sync.changes import AuditHead, AuditHeld, AuditPart, AuditRecord
from satchel_sync.digest import audit_link
from satchel_sync.limits import AUDIT_BODY_BYTES_MAX


@dataclass
class Trouble:
    """What came and was not taken."""

    what: str
    replica_id: bytes
    chain: str
    seq: int
    came: AuditRecord | AuditHead


@dataclass
class Audit:
    """What a hub keeps of the chains; by (replica id, chain)."""

    records: dict[tuple[bytes, str], list[AuditRecord]] = field(default_factory=dict)
    cuts: dict[tuple[bytes, str], list[AuditHeld]] = field(default_factory=dict)
    heads: dict[tuple[bytes, str], list[AuditHead]] = field(default_factory=dict)
    keys: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    trouble: list[Trouble] = field(default_factory=list)

    def copied(self) -> Audit:
        """A copy that shares nothing which changes."""
        return Audit(
            {key: list(records) for key, records in self.records.items()},
            {key: list(cuts) for key, cuts in self.cuts.items()},
            {key: list(heads) for key, heads in self.heads.items()},
            dict(self.keys),
            list(self.trouble),
        )

    def held(self, replica_id: bytes, chain: str) -> AuditHeld:
        """The last record of a chain."""
        records = self.records.get((replica_id, chain))
        return AuditHeld(records[-1].seq, records[-1].link) if records else AuditHeld()

    def held_of(self, replica_id: bytes) -> dict[str, AuditHeld]:
        """The same for all chains of a machine that there is something of."""
        return {chain: self.held(one, chain) for one, chain in self.records if one == replica_id}

    def take(self, replica_id: bytes, part: AuditPart) -> tuple[int, str, bool]:
        """Append a part.

        Returns how many records are new, why the chain does not go on or "", whether a new id does.
        """
        if part.chain not in CHAINS:
            return 0, why(CHAIN, 0, 0), False
        taken = 0
        for record in part.records:
            held = self.held(replica_id, part.chain)
            what = self._fault(replica_id, part, record, held)
            if what:
                return taken, *self._note(what, replica_id, part.chain, record, held)
            if record.seq > held.seq:
                if record.seq > held.seq + 1 and part.cut is not None:
                    cut = cut_of(part.cut.body) or AuditHeld()
                    self.cuts.setdefault((replica_id, part.chain), []).append(cut)
                self.records.setdefault((replica_id, part.chain), []).append(record)
                taken += 1
        if part.head is not None:
            return taken, *self._head(replica_id, part.chain, part.head)
        return taken, "", False

    def _fault(
        self, replica_id: bytes, part: AuditPart, record: AuditRecord, held: AuditHeld
    ) -> str:
        body = said(record.body)
        named = (body.get("chain"), body.get("replica_id"), body.get("seq"))
        well_formed = (
            named == (part.chain, replica_id.hex(), record.seq)
            and type(body.get("at")) is int
            and len(record.body.encode()) <= AUDIT_BODY_BYTES_MAX
            and (len(record.link), len(record.mac)) == (32, 32)
        )
        if not well_formed:
            return SHAPE
        before = held
        if record.seq <= held.seq:
            return "" if self._holds(replica_id, part.chain, record) else FORK
        if record.seq > held.seq + 1:
            cut = cut_of(part.cut.body) if part.cut is not None else None
            if cut is None or cut.seq != record.seq - 1:
                return GAP
            before = cut
        return "" if audit_link(before.link, record.body) == record.link else LINK

    def _holds(self, replica_id: bytes, chain: str, record: AuditRecord) -> bool:
        """Whether this very record is there, or was pruned before it could come."""
        kept = {one.seq: one for one in self.records.get((replica_id, chain), ())}
        return record.seq not in kept or kept[record.seq] == record

    def _head(self, replica_id: bytes, chain: str, head: AuditHead) -> tuple[str, bool]:
        held, signature = self.held(replica_id, chain), said(head.signature)
        if (head.seq, head.link) != (held.seq, held.link) or not signature:
            return self._note(HEAD, replica_id, chain, head, held)
        key = (str(signature.get("algorithm")), str(signature.get("public_key")))
        if self.keys.setdefault(replica_id, key) != key:
            return self._note(KEY, replica_id, chain, head, held)
        self.heads.setdefault((replica_id, chain), []).append(head)
        return "", False

    def _note(
        self,
        what: str,
        replica_id: bytes,
        chain: str,
        came: AuditRecord | AuditHead,
        held: AuditHeld,
    ) -> tuple[str, bool]:
        trouble = Trouble(what, replica_id, chain, came.seq, came)
        if trouble not in self.trouble:
            self.trouble.append(trouble)
        return why(what, came.seq, held.seq), is_anew(what, held.seq)
