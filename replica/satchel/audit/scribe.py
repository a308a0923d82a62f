"""The scribe: appends records to a chain, with this machine's audit key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import apsw

from satchel.audit import chain
from satchel.audit.chain import Kept, Place
from satchel_crypto.audit_record import (
    ANCHOR,
    BEGAN,
    FIRST_LINK,
    WHY_FIRST,
    WHY_HEAD,
    WHY_KEY,
    WHY_SUCCEEDED,
    Record,
    body_of,
    head_mac,
    sealed,
)
from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.provider import Provider

KEY_NAME = "audit"
"""`keys/audit.key`."""
KEY_BYTES = 32
SEQ_TRUSTED_MAX = 2**50
"""No chain comes so far: a head that says so was written by hand."""


class Draft(NamedTuple):
    """What a record will say, before it has its place in a chain; in the order of `body_of`."""

    action: str
    actor: str | None = None
    tool: str | None = None
    rows: tuple[tuple[str, str], ...] = ()
    more: int = 0
    detail: Mapping[str, str | int] = MappingProxyType({})


class Scribe:
    """Appends to chains; any number of processes at once, each inside a write transaction."""

    def __init__(self, provider: Callable[[], Provider], secrets: DeviceSecrets) -> None:
        """`provider` is called with the first record: to load one takes some milliseconds."""
        self._load = provider
        self._secrets = secrets
        self._provider: Provider | None = None
        self._key: bytes | None = None
        self._own: dict[str, Place] = {}

    @property
    def provider(self) -> Provider:
        """What hashes here. Raises ProviderUnavailable, FipsRefused."""
        if self._provider is None:
            self._provider = self._load()
        return self._provider

    def append(
        self,
        db: apsw.Connection,
        name: str,
        replica_id: bytes,
        at: int,
        drafts: Sequence[Draft],
        held: Kept | None,
    ) -> Kept:
        """Append records to the chain `name` behind `held`, which `chain.kept` told; its new head.

        A chain begins where there is none. It begins once more, with the next number, where its
        head is not as this machine's key left it: what was written before is for verify to judge,
        and the next write is not refused for it. Raises KeyInvalid for a key file that others may
        read, or that is damaged.
        """
        if held is None or held.passed or not self._fits(name, held):
            held, first = self._begin(db, name, replica_id, held)
            drafts = [first, *drafts]
        seq, link, key, hexed = held.seq, held.link, self.key(), replica_id.hex()
        for draft in drafts:
            seq += 1
            body = body_of(name, hexed, seq, at, *draft)
            link, mac = sealed(self.provider, key, link, body)
            chain.add(db, replica_id, seq, at, body, link, mac)
        anchored = any(draft.action == ANCHOR for draft in drafts) or not held.anchored_at
        head = Kept(
            replica_id=replica_id,
            seq=seq,
            link=link,
            mac=head_mac(self.provider, key, name, replica_id, seq, link),
            at=at,
            anchored_at=at if anchored else held.anchored_at,
        )
        chain.keep(db, head)
        self._own[name] = head.place
        return head

    def key(self) -> bytes:
        """The audit key, made when it is first used."""
        if self._key is None:
            provider = self.provider
            self._key = self._secrets.get_or_make(KEY_NAME, lambda: provider.random(KEY_BYTES))
        return self._key

    def _fits(self, name: str, held: Kept) -> bool:
        """Whether the head is as this machine's key left it, if need be the one of now."""
        if held.place == self._own.get(name) or self._stands(name, held):
            return True
        self._key = None  # another process may have found it gone, and made a new one
        return self._stands(name, held)

    def _stands(self, name: str, held: Kept) -> bool:
        wanted = head_mac(self.provider, self.key(), name, held.replica_id, held.seq, held.link)
        return self.provider.same(wanted, held.mac)

    def _begin(
        self, db: apsw.Connection, name: str, replica_id: bytes, held: Kept | None
    ) -> tuple[Kept, Draft]:
        """Behind what a chain begins, and the record that says why."""
        last = chain.last(db, replica_id)
        if held is not None or last is not None:
            seq, link = _later(held, last)
            why = WHY_KEY if held and not self._stands(name, held) else WHY_HEAD
            begin = _nothing(replica_id, seq=seq, link=link)
            return begin, Draft(action=BEGAN, detail={"why": why})
        before = chain.before(db, replica_id)
        detail: dict[str, str | int] = {"why": WHY_FIRST}
        if before is not None:
            detail = {
                "why": WHY_SUCCEEDED,
                "replica_id": before.replica_id.hex(),
                "seq": before.seq,
                "link": before.link.hex(),
            }
        return _nothing(replica_id), Draft(action=BEGAN, detail=detail)


def _later(held: Kept | None, last: Record | None) -> tuple[int, bytes]:
    """Number and link behind which no number is given twice, of a head that nobody vouches for."""
    seq, link = (last.seq, last.link) if last else (0, FIRST_LINK)
    if held is not None and seq < held.seq < SEQ_TRUSTED_MAX:
        return held.seq, held.link
    return seq, link


def _nothing(replica_id: bytes, *, seq: int = 0, link: bytes = FIRST_LINK) -> Kept:
    return Kept(replica_id=replica_id, seq=seq, link=link, mac=b"", at=0, anchored_at=0)
