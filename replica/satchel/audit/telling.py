"""Records that say something about a chain: anchors, beginnings, rotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apsw

from satchel.audit import chain
from satchel_crypto.audit_record import (
    ANCHOR,
    BEGAN,
    LINK_BYTES,
    READ,
    RESTORED,
    ROTATED,
    SEEN_LINK,
    SEEN_SEQ,
    WHY_SUCCEEDED,
    WRITES,
    Entry,
    Head,
    Record,
)
from satchel_crypto.audit_verify import Start, start_of
from satchel_crypto.errors import AuditBroken

Said = Entry
ACTIONS = (ANCHOR, BEGAN, RESTORED, ROTATED)


def said_in(db: apsw.Connection, replica_id: bytes | None = None) -> list[Said]:
    """Such records of all chains in this file, or of one; what no satchel wrote is left out."""
    return [one for one in _parsed(chain.saying(db, ACTIONS, replica_id)) if one.action in ACTIONS]


def seen_in(db: apsw.Connection) -> list[Said]:
    """Reads in activity.db that say where the chain of writes stood."""
    found = chain.holding(db, [f'"{SEEN_LINK}":"'])
    return [one for one in _parsed(found) if one.action == READ]


def _parsed(records: Iterable[Record]) -> Iterator[Said]:
    for record in records:
        try:
            yield Entry.parse(record.body)
        except AuditBroken:
            continue  # the walk over its chain stops there


def start_in(db: apsw.Connection | None, replica_id: bytes) -> Start:
    """Behind which record a chain begins, by its last rotation."""
    told = [] if db is None else said_in(db, replica_id)
    rotations = [one for one in told if one.action == ROTATED and "replica_id" not in one.detail]
    try:
        return start_of(rotations[-1] if rotations else None)
    except AuditBroken:
        return Start()  # the walk stops at that record, if not before


def keyless(said: Sequence[Said]) -> frozenset[tuple[str, str]]:
    """(chain, replica id) of those that came with a backup and without their audit key."""
    return frozenset(
        (str(one.detail["chain"]), str(one.detail.get("replica_id")))
        for one in said
        if one.action == RESTORED and "chain" in one.detail
    )


def heads_of(said: Sequence[Said], name: str) -> list[tuple[Head, bool]]:
    """Heads of chains `name` that records tell of, and whether it is sure that the chain is here.

    It is for one that the chain began behind, in the same file, and for one that was restored,
    unless a rotation removed it.
    """
    removed = {
        str(one.detail["replica_id"])
        for one in said
        if one.action == ROTATED and one.chain == name and "replica_id" in one.detail
    }
    found = []
    for one in said:
        head = _head(one)
        if head is not None and head.chain == name and head.replica_id not in removed:
            found.append((head, one.action in (BEGAN, RESTORED)))
    return found


def _head(said: Said) -> Head | None:
    """The head that an anchor, a read, or the beginning of a successor names."""
    detail = said.detail
    if said.action == READ:
        return _of(WRITES, detail.get(SEEN_SEQ), detail.get(SEEN_LINK), said.replica_id)
    if said.action == BEGAN and detail.get("why") == WHY_SUCCEEDED:
        name: str | int | None = said.chain
    elif said.action in (ANCHOR, RESTORED):
        name = detail.get("chain")
    else:
        return None
    return _of(name, detail.get("seq"), detail.get("link"), detail.get("replica_id"))


def _of(name: object, seq: object, link: object, replica_id: object) -> Head | None:
    if not (isinstance(seq, int) and isinstance(name, str)):
        return None
    try:
        raw, identity = bytes.fromhex(str(link)), bytes.fromhex(str(replica_id))
    except ValueError:
        return None
    if len(raw) != LINK_BYTES:
        return None
    return Head(chain=name, replica_id=identity.hex(), seq=seq, link=raw)
