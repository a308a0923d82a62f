"""`satchel audit verify`: both chains of this machine, and what each says of the other.

What is read comes from three moments: what the reads say of the writes, then satchel.db, then
activity.db. So nothing ever names a head that was not there yet when its chain was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import apsw

from satchel.audit import chain, covering, reads
from satchel.audit.scribe import KEY_NAME
from satchel.audit.telling import Said, heads_of, keyless, said_in, seen_in, start_in
from satchel.memory.moments import iso
from satchel.protection import device_secrets, provider_of
from satchel.store import damage, identity, succession
from satchel_crypto.audit_record import READS, ROTATED, WRITES, Head, head_mac
from satchel_crypto.audit_verify import Break, Fault, Verdict, verify
from satchel_crypto.errors import AuditBroken
from satchel_sync.tables import TABLES

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store
    from satchel_crypto.provider import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A verdict, with the times (UTC ms) of its first and last record."""

    verdict: Verdict
    current: bool
    from_ms: int | None = None
    to_ms: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        verdict, broken = self.verdict, self.verdict.broken
        return {
            "chain": verdict.chain,
            "replica_id": verdict.replica_id,
            "current": self.current,
            "ok": verdict.ok,
            "records": verdict.records,
            "first": verdict.first,
            "last": verdict.last,
            "from": None if self.from_ms is None else iso(self.from_ms),
            "to": None if self.to_ms is None else iso(self.to_ms),
            "head": verdict.link.hex() if verdict.records else None,
            "broken": broken and {"seq": broken.seq, "fault": broken.fault, "why": broken.message},
        }


def check(store: Store, settings: Settings) -> list[Checked]:
    """Every chain of this home, those of the present replica id last.

    Raises CryptoError for the provider or the key.
    """
    checker = _Checker(provider_of(settings), device_secrets(settings.home).get(KEY_NAME))
    try:
        with reads.opened(store.home) as db:
            there = [] if db is None else [*said_in(db), *seen_in(db)]
    except (apsw.Error, OSError):
        there = []  # told below, of the chain itself
    with store.read() as db:
        current = identity.load(db)
        said = said_in(db)
        strange = _strangers(db, current, there, said)
        found = list(checker.chains(db, WRITES, current, [*there, *said], strange))
    try:
        with reads.opened(store.home) as db:
            found += checker.chains(
                db, READS, current, [*said, *([] if db is None else said_in(db))]
            )
    except (apsw.Error, OSError) as error:
        found.append(_unreadable(current, f"activity.db cannot be read: {error}"))
    return sorted(found, key=lambda one: one.current)


def told(store: Store, settings: Settings) -> dict[str, Any]:
    """{ok, chains, changed_rows}: what the doors answer."""
    found, rows = check(store, settings), unfit(store)
    whole = not rows and all(one.verdict.ok for one in found)
    return {"ok": whole, "chains": [one.as_dict() for one in found], "changed_rows": rows}


def unfit(store: Store) -> list[str]:
    """`kind key` of rows whose content is not what was sealed: changed past the triggers, or torn.

    Reads every row that can travel; those are the ones that have a digest.
    """
    with store.read() as db:
        return [
            f"{table.name} {key}" for table in TABLES for key in sorted(damage.damaged(db, table))
        ]


def require_fit(rows: Sequence[str]) -> None:
    """Raise AuditBroken that names the first rows whose content is not what was sealed."""
    if rows:
        more = f" and {len(rows) - ROWS_TOLD_MAX} more" if len(rows) > ROWS_TOLD_MAX else ""
        raise AuditBroken(
            f"rows were changed past satchel: {', '.join(rows[:ROWS_TOLD_MAX])}{more}",
            hint="`satchel sync verify` heals them from the warehouse; `satchel memory history`"
            " shows what was written",
        )


def require_whole(found: Sequence[Checked]) -> None:
    """Raise AuditBroken that names the first broken link of each chain that is broken."""
    broken = [one.verdict.broken for one in found if one.verdict.broken is not None]
    if broken:
        told = "; ".join(
            f"{one.chain} at record {one.seq}: {one.fault} ({one.message})" for one in broken
        )
        raise AuditBroken(
            f"the audit is not as it was written: {told}",
            hint="compare with the warehouse or an export; `satchel audit log` shows what is left",
        )


ROWS_TOLD_MAX = 5


class _Checker:
    def __init__(self, provider: Provider, key: bytes | None) -> None:
        self._provider = provider
        self._key = key

    def chains(
        self,
        db: apsw.Connection | None,
        name: str,
        current: bytes,
        said: Sequence[Said],
        strange: frozenset[str] = frozenset(),
    ) -> Iterator[Checked]:
        """The chain `name` of the present id, of those that the file had before, and strangers."""
        here = [] if db is None else chain.ids(db)
        known = heads_of(said, name)
        heads = [(head, sure or head.replica_id in strange) for head, sure in known]
        before = {head.replica_id for head, sure in heads if sure}
        ids = {*here, *(bytes.fromhex(one) for one in before)} - {current}
        for replica_id in [*sorted(ids), current]:
            own = [(head, sure) for head, sure in heads if head.replica_id == replica_id.hex()]
            if replica_id in here or own:
                # What came with a backup and without its key is held by its links and by that head.
                without = replica_id != current and (name, replica_id.hex()) in keyless(said)
                key = None if without else self._key
                yield self._one(db, name, replica_id, own, replica_id == current, key)

    def _one(
        self,
        db: apsw.Connection | None,
        name: str,
        replica_id: bytes,
        told: Sequence[tuple[Head, bool]],
        current: bool,
        key: bytes | None,
    ) -> Checked:
        kept = None if db is None else chain.kept(db, replica_id)
        last = kept.seq if kept else 0
        # A copy goes on under an id of its own: what the original wrote later was never here.
        heads = [head for head, sure in told if sure or current or head.seq <= last]
        if kept is not None:
            heads.append(Head(chain=name, replica_id=replica_id.hex(), seq=last, link=kept.link))
        verdict = verify(
            self._provider,
            iter(()) if db is None else chain.records(db, replica_id),
            chain=name,
            replica_id=replica_id.hex(),
            start=start_in(db, replica_id),
            key=key,
            heads=heads,
        )
        if verdict.broken and not current and not verdict.last and any(sure for _, sure in told):
            said = f"of {verdict.replica_id} nothing is here, and others tell of its {name}"
            verdict = replace(verdict, broken=replace(verdict.broken, message=said))
        if verdict.broken is None:
            broken = self._unkept(verdict, kept) if key == self._key else None
            if broken is None and current and name == WRITES and db is not None:
                broken = _unrecorded(db, verdict)
            verdict = replace(verdict, broken=broken)
        times = None if db is None else chain.times(db, replica_id)
        from_ms, to_ms = times or (None, None)
        return Checked(verdict=verdict, current=current, from_ms=from_ms, to_ms=to_ms)

    def _unkept(self, verdict: Verdict, kept: chain.Kept | None) -> Break | None:
        """What is wrong with the key, or with the note of where the chain stands."""
        if self._key is None:
            fault, said = Fault.KEY, "the audit key is gone: nobody can check the MACs"
        elif kept is None:
            fault, said = Fault.HEAD, "the note of where the chain stands is gone"
        elif not self._fits(verdict, kept):
            fault, said = Fault.HEAD, "the note of where the chain stands was changed"
        else:
            return None
        return Break(chain=verdict.chain, seq=verdict.last, fault=fault, message=said)

    def _fits(self, verdict: Verdict, kept: chain.Kept) -> bool:
        replica_id = bytes.fromhex(verdict.replica_id)
        wanted = head_mac(
            self._provider, self._key or b"", verdict.chain, replica_id, kept.seq, kept.link
        )
        return self._provider.same(wanted, kept.mac)


def _unrecorded(db: apsw.Connection, verdict: Verdict) -> Break | None:
    """Rows of this replica that the chain should tell of, and does not."""
    found = covering.unrecorded(db, bytes.fromhex(verdict.replica_id))
    if found is None:
        return None
    said = f"rows that no record tells of: {found.rows}, the first behind record {found.after}"
    return Break(chain=WRITES, seq=found.after + 1, fault=Fault.CUT, message=said)


def _strangers(
    db: apsw.Connection, current: bytes, there: Sequence[Said], said: Sequence[Said]
) -> frozenset[str]:
    """Ids of whose writes activity.db tells, where satchel.db looks as if it had never had another.

    A file that took a new id says so, whatever became of the old one: it was copied or restored.
    """
    taken = any(one.action == ROTATED and "replica_id" in one.detail for one in said)
    if taken or succession.predecessors(db) or set(chain.ids(db)) - {current}:
        return frozenset()
    heads = (head for head, _ in heads_of(there, WRITES) if head.seq > 0)
    return frozenset(head.replica_id for head in heads) - {current.hex()}


def _unreadable(current: bytes, message: str) -> Checked:
    verdict = Verdict(
        chain=READS,
        replica_id=current.hex(),
        records=0,
        first=0,
        last=0,
        link=b"",
        broken=Break(chain=READS, seq=0, fault=Fault.REMOVED, message=message),
    )
    return Checked(verdict=verdict, current=True)
