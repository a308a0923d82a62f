"""Walking an audit chain: does each record follow the one before, and which is the first that not.

With the audit key the MACs are checked too, on the machine itself; whoever has no key checks links
and the heads that the machine signed. Pure: records come in, a verdict goes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from satchel_crypto.audit_record import (
    BEGAN,
    FIRST_LINK,
    LINK_BYTES,
    ROTATED,
    WHY_HEAD,
    WHY_KEY,
    Entry,
    Head,
    Record,
    link_of,
    mac_of,
)
from satchel_crypto.errors import AuditBroken
from satchel_crypto.provider import Provider


class Fault(StrEnum):
    """What is wrong with a chain at its first break."""

    CHANGED = "changed"
    REMOVED = "removed"
    SWAPPED = "swapped"
    FORGED = "forged"
    CUT = "cut off"
    HEAD = "wrong head"
    KEY = "key replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """The first record that does not fit, and why."""

    chain: str
    seq: int
    fault: Fault
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Behind which record a walk begins: 0 and `FIRST_LINK`, or where records were removed."""

    seq: int = 0
    link: bytes = FIRST_LINK


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a walk found. `first` and `last` are numbers of records, 0 where there is none."""

    chain: str
    replica_id: str
    records: int
    first: int
    last: int
    link: bytes
    broken: Break | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.broken is None


def start_of(rotation: Entry | None) -> Start:
    """Where the walk begins by the last `rotated` record of the chain. Raises AuditBroken."""
    if rotation is None:
        return Start()
    seq, link = rotation.detail.get("seq"), rotation.detail.get("link")
    try:
        cut = bytes.fromhex(link) if isinstance(link, str) else b""
    except ValueError:
        cut = b""
    if not isinstance(seq, int) or not 0 < seq < rotation.seq or len(cut) != LINK_BYTES:
        raise AuditBroken(f"record {rotation.seq} does not say what was removed before it")
    return Start(seq=seq, link=cut)


def verify(
    provider: Provider,
    records: Iterable[Record],
    *,
    chain: str,
    replica_id: str,
    start: Start = Start(),
    key: bytes | None = None,
    heads: Sequence[Head] = (),
) -> Verdict:
    """Walk `records`, in the order of their numbers, behind `start`.

    `heads` are where the chain is known to have stood: the one signed or kept last, and anchors.
    One that lies before `start` says nothing any more.
    """
    walk = Walk(provider, chain, replica_id, start=start, key=key, heads=heads)
    for record in records:
        if walk.take(record) is not None:
            break
    return walk.end()


class Walk:
    """A walk that is given one record after another, for who has them by pages.

    `keeps`: what the chain says was removed may be here nevertheless, as a warehouse keeps it.
    """

    def __init__(
        self,
        provider: Provider,
        chain: str,
        replica_id: str,
        *,
        start: Start = Start(),
        key: bytes | None = None,
        heads: Sequence[Head] = (),
        keeps: bool = False,
    ) -> None:
        self._keeps = keeps
        self._provider = provider
        self._chain = chain
        self._replica_id = replica_id
        self._start = start
        self._key = key
        self._heads = sorted(heads, key=lambda head: head.seq, reverse=True)
        self._link = start.link
        self._seq = start.seq
        self._records = 0
        self._fitted = False
        self._unfit = 0
        self._broken: Break | None = None
        self._replaced: Break | None = None
        self._meet_heads()

    def take(self, record: Record) -> Break | None:
        """The next record; the first break that was met so far, after which nothing is taken."""
        if self._broken is None:
            self._broken = self._order(record) or self._content(record) or self._mac(record)
        if self._broken is None:
            self._link, self._seq = record.link, record.seq
            self._records += 1
            self._meet_heads()
        return self._broken

    def end(self) -> Verdict:
        """The verdict, when there are no more records."""
        if self._broken is None and self._unfit and self._replaced is None:
            said = "no MAC of the chain fits the audit key of this machine"
            self._broken = self._break(self._unfit, Fault.KEY, said)
        if self._broken is None and self._heads:
            last = self._heads[0]
            said = f"the chain ends at {self._seq} and stood at {last.seq} before"
            self._broken = self._break(self._seq + 1, Fault.CUT, said)
        return Verdict(
            chain=self._chain,
            replica_id=self._replica_id,
            records=self._records,
            first=self._start.seq + 1 if self._records else 0,
            last=self._seq if self._records else 0,
            link=self._link,
            broken=self._broken or self._replaced,
        )

    def _order(self, record: Record) -> Break | None:
        wanted = self._seq + 1
        if record.seq > wanted:
            return self._break(wanted, Fault.REMOVED, f"the next one is {record.seq}")
        if record.seq < wanted:
            return self._break(record.seq, Fault.SWAPPED, f"it stands where {wanted} belongs")
        return None

    def _content(self, record: Record) -> Break | None:
        try:
            said = Entry.parse(record.body)
        except AuditBroken as error:
            return self._break(record.seq, Fault.CHANGED, str(error))
        if link_of(self._provider, self._link, record.body) != record.link:
            if said.seq != record.seq:
                return self._break(record.seq, Fault.SWAPPED, f"its body is that of {said.seq}")
            return self._break(record.seq, Fault.CHANGED, "its link does not fit")
        place = (said.chain, said.replica_id, said.seq, said.at)
        if place != (self._chain, self._replica_id, record.seq, record.at):
            return self._break(record.seq, Fault.CHANGED, "its body is of another place or time")
        if said.action == ROTATED and "replica_id" not in said.detail:
            return self._rotated(said)
        return None

    def _rotated(self, said: Entry) -> Break | None:
        """A removal that is told must not reach beyond the one that the walk began behind."""
        try:
            cut = start_of(said)
        except AuditBroken as error:
            return self._break(said.seq, Fault.CHANGED, str(error))
        if cut.seq > self._start.seq and not self._keeps:
            lost = f"record {said.seq} tells that those up to {cut.seq} were removed"
            return self._break(said.seq, Fault.CHANGED, f"{lost}, but they are there")
        if cut.seq == self._start.seq and cut.link != self._start.link:
            return self._break(cut.seq, Fault.HEAD, f"record {said.seq} names another link")
        return None

    def _mac(self, record: Record) -> Break | None:
        """MACs of one key only: those of a key that was replaced do not fit, down to the next."""
        if self._key is None:
            return None
        fits = record.mac is not None and self._provider.same(
            record.mac, mac_of(self._provider, self._key, record.link)
        )
        if not fits:
            if self._fitted:
                return self._break(record.seq, Fault.FORGED, "its MAC does not fit")
            self._unfit = self._unfit or record.seq
        elif self._unfit and not self._fitted:
            if not self._began_again(record):
                return self._break(self._unfit, Fault.FORGED, "its MAC does not fit")
            said = "the audit key was replaced: nobody can check the MACs before it"
            self._replaced = self._break(record.seq, Fault.KEY, said)
        elif self._began_again(record) and record.seq > self._start.seq + 1:
            said = "the chain began anew here under the same key: its head was changed or removed"
            return self._break(record.seq, Fault.HEAD, said)
        self._fitted = self._fitted or fits
        return None

    @staticmethod
    def _began_again(record: Record) -> bool:
        said = Entry.parse(record.body)
        return said.action == BEGAN and said.detail.get("why") in (WHY_KEY, WHY_HEAD)

    def _meet_heads(self) -> None:
        """Heads up to here, each of which must name the link that is here."""
        while self._broken is None and self._heads and self._heads[-1].seq <= self._seq:
            head = self._heads.pop()
            if head.seq == self._seq and head.link != self._link:
                said = "it is another record than the one that stood here before"
                self._broken = self._break(self._seq, Fault.HEAD, said)

    def _break(self, seq: int, fault: Fault, message: str) -> Break:
        return Break(chain=self._chain, seq=seq, fault=fault, message=message)
