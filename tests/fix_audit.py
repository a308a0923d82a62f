"""Audit chains for tests: made and signed by the real provider, as parts that a hub is given."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache

from fix_sync import NOON_MS

from satchel_crypto import audit_record as records
from satchel_crypto.algorithms import Signature
from satchel_crypto.audit_record import HEAD_PURPOSE, Entry, Head, append
from satchel_crypto.provider import Provider
from satchel_crypto.registry import provider
from satchel_crypto.signed import Signed, statement
from satchel_sync.audit import FIRST_LINK
from satchel_sync.changes import AuditHead, AuditHeld, AuditPart, AuditRecord

MAC_KEY = b"\x07" * 32


@cache
def openssl() -> Provider:
    """The default provider."""
    return provider("openssl", fips=False)


@dataclass(frozen=True)
class Signer:
    """A signing key of one machine."""

    private: bytes
    public: bytes
    algorithm: Signature = Signature.ECDSA_P256

    @staticmethod
    def new(algorithm: Signature = Signature.ECDSA_P256) -> Signer:
        private, public = openssl().signing_key(algorithm)
        return Signer(private, public, algorithm)

    def sign(self, head: Head) -> AuditHead:
        """The head as it travels."""
        value = openssl().sign(self.algorithm, self.private, statement(HEAD_PURPOSE, head.data()))
        signed = Signed(algorithm=self.algorithm, public=self.public, value=value)
        return AuditHead(head.seq, head.link, head.at, json.dumps(signed.as_dict(openssl())))


@dataclass
class Chain:
    """A chain of one machine that grows."""

    replica_id: bytes
    chain: str = "writes"
    records: list[AuditRecord] = field(default_factory=list)
    signer: Signer = field(default_factory=Signer.new)
    cut: AuditHeld = field(default_factory=AuditHeld)
    at: int = NOON_MS

    @property
    def held(self) -> AuditHeld:
        """Its last record."""
        if not self.records:
            return self.cut
        return AuditHeld(self.records[-1].seq, self.records[-1].link)

    def grow(self, count: int = 1, action: str = "write", **detail: str | int) -> Chain:
        """Append records."""
        for _ in range(count):
            last = self.held
            self.at += 1
            entry = Entry(
                chain=self.chain,
                replica_id=self.replica_id.hex(),
                seq=last.seq + 1,
                at=self.at,
                actor="una",
                action=action,
                tool="memory_write",
                rows=(("memory", f"m{last.seq}"),),
                detail=detail,
            )
            made = append(openssl(), MAC_KEY, last.link, entry)
            assert made.mac is not None
            self.records.append(AuditRecord(made.seq, made.body, made.link, made.mac))
        return self

    def prune(self, upto: int) -> AuditRecord:
        """Remove records up to a number; the record that tells of it."""
        cut = self.record(upto)
        self.grow(action=records.ROTATED, seq=cut.seq, link=cut.link.hex())
        self.cut = AuditHeld(cut.seq, cut.link)
        self.records = [one for one in self.records if one.seq > upto]
        return self.records[-1]

    def record(self, seq: int) -> AuditRecord:
        """The record of that number."""
        (found,) = [one for one in self.records if one.seq == seq]
        return found

    def head(self) -> AuditHead:
        """Its end, signed."""
        held = self.held
        return self.signer.sign(
            Head(
                chain=self.chain,
                replica_id=self.replica_id.hex(),
                seq=held.seq,
                link=held.link,
                at=self.at,
            )
        )

    def part(self, after: int = 0, *, cut: AuditRecord | None = None) -> AuditPart:
        """All records behind a number, with the head."""
        due = tuple(one for one in self.records if one.seq > after)
        return AuditPart(self.chain, due, self.head(), cut)


def fork(chain: Chain, upto: int) -> Chain:
    """Another chain that shares the records up to a number, and goes on otherwise."""
    shared = [one for one in chain.records if one.seq <= upto]
    return Chain(chain.replica_id, chain.chain, shared, chain.signer, chain.cut, chain.at + 1000)


__all__ = ["FIRST_LINK", "Chain", "Signer", "fork", "openssl"]
