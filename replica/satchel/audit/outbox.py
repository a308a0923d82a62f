"""What of this machine's audit chains waits for the warehouse: records in order, and signed heads.

What is sent is on the disk before: a power cut that took it back would make two records of one
number, and that is what a forger makes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.audit import chain, place
from satchel.audit.rotation import SENT
from satchel.store.activity import ACTIVITY_FILE
from satchel.store.meta import meta, set_meta
from satchel_crypto.audit_record import CHAINS, FIRST_LINK, HEAD_PURPOSE, READS, Head
from satchel_crypto.audit_record import Record as Kept
from satchel_crypto.errors import CryptoError
from satchel_crypto.file_system import flush_file
from satchel_sync import limits
from satchel_sync.audit import cut_of
from satchel_sync.changes import AuditBatch, AuditHead, AuditHeld, AuditPart, AuditRecord

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store
    from satchel_crypto.keystore import KeyStore, SigningKey

SIGNED_BY = "audit_signed_by"
"""Entry of `meta`: replica id and key id of the last heads that were sent."""
LOCK_ERRORS = (apsw.BusyError, apsw.LockedError)


class AuditOutbox:
    """`store.endpoint.AuditSource` of the home in the settings; for one sync."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._sent: dict[str, int] = {}

    def waiting(self, held: Mapping[str, AuditHeld], without: Collection[str] = ()) -> AuditBatch:
        """See `satchel_sync.ports.Replica.audit_waiting`."""
        parts: list[AuditPart] = []
        refused: dict[str, str] = {}
        room, more = Room(), False
        for name in CHAINS:
            theirs = held.get(name, AuditHeld())
            self._sent[name] = theirs.seq
            if name in without:
                continue
            try:
                part, whole = self._part(name, theirs, room)
            except (CryptoError, Unsendable) as error:
                refused[name] = str(error)
            except LOCK_ERRORS:
                continue  # somebody reads for long: it goes with the next sync
            except (apsw.Error, OSError) as error:
                refused[name] = f"it cannot be read: {error}"
            else:
                parts += [part] if part else []
                more = more or not whole
        return AuditBatch(tuple(parts), more, refused)

    def sent(self, held: Mapping[str, AuditHeld]) -> None:
        """See `satchel_sync.ports.Replica.audit_sent`; kept with the report."""
        self._sent.update({name: one.seq for name, one in held.items() if name in CHAINS})

    def keep(self, db: apsw.Connection) -> None:
        """Keep, in this transaction, how far the warehouse has the chains."""
        told = json.dumps(self._sent, sort_keys=True)
        if self._sent and meta(db, SENT) != told:
            set_meta(db, SENT, told)
        if "_key" in self.__dict__:  # something was signed
            set_meta(db, SIGNED_BY, f"{self._store.replica_id.hex()} {self._key.id.hex()}")

    # ---- one chain ------------------------------------------------------------------------------

    def _part(self, name: str, theirs: AuditHeld, room: Room) -> tuple[AuditPart | None, bool]:
        """The next records of a chain, and whether those are all."""
        replica_id = self._store.replica_id
        with place.opened(self._store, name) as db:
            last = chain.last(db, replica_id) if db is not None else None
            ours = (last.seq, last.link) if last else (0, FIRST_LINK)
            if ours == (theirs.seq, theirs.link):
                return None, True
            if db is None or last is None or last.seq < theirs.seq:
                return self._evidence(name, replica_id, last), True
            some = list(
                room.take(chain.records(db, replica_id, after=_after(db, replica_id, theirs)))
            )
            if not some:
                return None, False
            gap = some[0].seq > theirs.seq + 1
            cut = _told_cut(db, replica_id, some[0].seq - 1) if gap else None
        self._settle(name)
        whole = some[-1].seq == last.seq
        head = self._signed(name, replica_id, last) if whole else None
        records = tuple(_sendable(one) for one in some)
        return AuditPart(name, records, head, _sendable(cut) if cut else None), whole

    def _settle(self, name: str) -> None:
        """Bring to the disk what is read here; satchel.db is there already if it is durable."""
        if name == READS:
            _sync(self._store.home / f"{ACTIVITY_FILE}-wal")
        elif self._settings.durability != "full":
            _sync(self._store.path.with_name(self._store.path.name + "-wal"))

    def _evidence(self, name: str, replica_id: bytes, last: Kept | None) -> AuditPart:
        """What a file has that has less than the hub: its last record, and its head."""
        records = (_sendable(last),) if last else ()
        return AuditPart(name, records, self._signed(name, replica_id, last))

    def _signed(self, name: str, replica_id: bytes, last: Kept | None) -> AuditHead:
        at, seq, link = self._store.now_ms(), 0, FIRST_LINK
        if last is not None:
            seq, link = last.seq, last.link
        head = Head(chain=name, replica_id=replica_id.hex(), seq=seq, link=link, at=at)
        provider = self._keys.provider
        signed = self._key.sign(provider, HEAD_PURPOSE, head.data())
        signature = json.dumps(signed.as_dict(provider), sort_keys=True)
        return AuditHead(seq, link, at, signature)

    @cached_property
    def _keys(self) -> KeyStore:
        from satchel.protection import key_store

        return key_store(self._settings)

    @cached_property
    def _key(self) -> SigningKey:
        """What this id signed with before, also after a rotation: the warehouse has pinned it."""
        with self._store.read() as db:
            told = meta(db, SIGNED_BY)
        for suite in self._keys.suites:
            for key in self._keys.signings(suite):
                if told == f"{self._store.replica_id.hex()} {key.id.hex()}":
                    return key
        return self._keys.signing()


class Unsendable(Exception):
    """A chain that no hub can go on with; the message says why."""


class Room:
    """How much more fits into a call."""

    def __init__(self) -> None:
        self.rows, self.size = limits.AUDIT_ROWS_MAX, limits.AUDIT_BYTES_MAX

    def take(self, records: Iterator[Kept]) -> Iterator[Kept]:
        """As many as fit; of an empty call at least one."""
        for record in records:
            used = self.rows < limits.AUDIT_ROWS_MAX
            self.rows, self.size = self.rows - 1, self.size - len(record.body)
            if self.rows < 0 or (self.size < 0 and used):
                return
            yield record


def _after(db: apsw.Connection, replica_id: bytes, theirs: AuditHeld) -> int:
    """Behind which record to send: where ours is another than the hub's last one, it goes too."""
    ours = next(chain.records(db, replica_id, after=theirs.seq - 1, limit=1), None)
    forked = ours is not None and ours.seq == theirs.seq and ours.link != theirs.link
    return theirs.seq - 1 if forked else theirs.seq


def _told_cut(db: apsw.Connection, replica_id: bytes, seq: int) -> Kept | None:
    """The record that tells that those up to `seq` were pruned."""
    for record in chain.records(db, replica_id, after=seq):
        cut = cut_of(record.body)
        if cut is not None and cut.seq == seq:
            return record
    return None


def _sendable(record: Kept) -> AuditRecord:
    if not isinstance(record.seq, int):
        raise Unsendable(f"its record {record.seq!r} has no number")
    return AuditRecord(record.seq, record.body, record.link, record.mac or b"")


def _sync(path: Path) -> None:
    with suppress(FileNotFoundError):  # all of it is in the file, which a checkpoint has synced
        flush_file(path)
