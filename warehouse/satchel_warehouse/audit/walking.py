"""Walking one chain of a warehouse: links from hole to hole, under the heads that were signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from satchel_crypto import audit_heads
from satchel_crypto.audit_heads import SignedHead
from satchel_crypto.audit_record import BEGAN, ROTATED, WHY_HEAD, WHY_KEY, Entry, Head, Record
from satchel_crypto.audit_verify import Start, Walk
from satchel_crypto.provider import Provider
from satchel_warehouse.audit import tables
from satchel_warehouse.audit.found import Chain
from satchel_warehouse.database import Connection

AGAIN = "the machine began its chain anew here: its head, or its audit key, was changed or removed"


def signed_heads(db: Connection, provider: Provider, chain: Chain) -> list[Head]:
    """The heads whose signatures stand, by a pinned key, in their order."""
    name, pinned, good = chain.name, tables.pinned(db, chain.name), list[Head]()
    rows = tables.of_chain(db, name, "heads", "seq, link, at_ms, signature")
    for seq, link, at, signature in rows:
        head = Head(chain=name.chain, replica_id=name.replica_id, seq=seq, link=bytes(link), at=at)
        signed = audit_heads.check(provider, head, signature)
        if _stands(chain, signed, pinned):
            good.append(head)
            chain.signed, chain.key_id = seq, signed.key_id
    return good


def _stands(chain: Chain, signed: SignedHead, pinned: set[tuple[str, str]]) -> bool:
    if signed.fault:
        chain.find(signed.head.seq, "wrong head", signed.fault)
    elif (signed.algorithm, signed.public_key) not in pinned:
        said = f"the head is signed by the key {signed.key_id}, which is not pinned to this machine"
        chain.find(signed.head.seq, "other key", said)
    else:
        return True
    return False


def walk(db: Connection, provider: Provider, chain: Chain, heads: Sequence[Head]) -> None:
    """Walk to the first break. A hole is one only where a record of the chain tells of it."""
    told = Told()
    segments = Segments(db, provider, chain, heads)
    for record in tables.records(db, chain.name):
        if not segments.take(record):
            break
        told.note(record)
        chain.records += 1
        chain.first, chain.last = chain.first or record.seq, record.seq
    segments.end()
    for first, last in chain.holes:
        if told.cuts.get(last) != segments.pruned[last]:
            said = f"{first} to {last} never came, and no record tells that they were pruned"
            chain.find(first, "removed", said)
    if told.again:
        chain.find(told.again, "began anew", AGAIN)


class Segments:
    """The walks of one chain: one from its beginning, and one behind each hole."""

    def __init__(
        self, db: Connection, provider: Provider, chain: Chain, heads: Sequence[Head]
    ) -> None:
        self._provider = provider
        self._chain = chain
        self._heads = heads
        self._expired = tables.cuts(db, chain.name, expired=True)
        self.pruned = tables.cuts(db, chain.name, expired=False)
        self._holes = {b: a for a, b in tables.gaps(db, chain.name) if b in self.pruned}
        self._walk: Walk | None = None
        self._is_over = False
        chain.expired = max(self._expired, default=0)

    def take(self, record: Record) -> bool:
        """Whether this record follows, or lies behind a hole."""
        before = record.seq - 1
        if self._walk is None:
            self._begin(before if before in self._expired or before in self._holes else 0)
        elif before in self._holes:
            if self._broken():
                return False
            self._begin(before)
        return self._walk is not None and self._walk.take(record) is None

    def end(self) -> None:
        """No more records: name the break, if there was one."""
        if self._walk is None:  # nothing is left of it
            self._begin(self._chain.expired)
        if not self._is_over:
            self._broken()

    def _begin(self, cut: int) -> None:
        """Walk behind a cut, up to the next hole, under the heads that lie between."""
        link = self._expired.get(cut, self.pruned.get(cut))
        start = Start(seq=cut, link=link) if link is not None else Start()
        if cut in self._holes and cut not in self._expired:
            self._chain.holes.append((self._holes[cut], cut))
        end = min((hole for hole in self._holes if hole > cut), default=None)
        mine = [h for h in self._heads if h.seq >= cut and (end is None or h.seq < end)]
        name = self._chain.name
        self._walk = Walk(
            self._provider, name.chain, name.replica_id, start=start, heads=mine, keeps=True
        )

    def _broken(self) -> bool:
        broken = self._walk.end().broken if self._walk is not None else None
        if broken is not None:
            self._is_over = True
            self._chain.find(broken.seq, broken.fault.value, broken.message)
        return broken is not None


@dataclass(slots=True)
class Told:
    """What records say of their own chain: up to where it was pruned, that it began anew."""

    cuts: dict[int, bytes] = field(default_factory=dict)
    again: int = 0

    def note(self, record: Record) -> None:
        """Look at a record that has its place in the chain."""
        if f'"{ROTATED}"' not in record.body and f'"{BEGAN}"' not in record.body:
            return
        said = Entry.parse(record.body)
        seq, link = said.detail.get("seq"), said.detail.get("link")
        if said.action == ROTATED and "replica_id" not in said.detail and isinstance(seq, int):
            self.cuts[seq] = bytes.fromhex(str(link))
        if said.action == BEGAN and said.detail.get("why") in (WHY_KEY, WHY_HEAD):
            self.again = self.again or said.seq
