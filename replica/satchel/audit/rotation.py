"""Rotation: records that are too old go, and a record says up to where.

What a warehouse has not got yet waits for it, four times as long at most.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from satchel.audit import chain
from satchel.audit.scribe import Draft
from satchel.store.meta import meta
from satchel_crypto.audit_record import READS, ROTATED, WRITES, Record

DAY_MS = 24 * 60 * 60 * 1000
SLACK_MS = DAY_MS
"""The oldest record is so much older than it may be before records go: not one at a time."""
UNSENT_TIMES = 4
SENT = "audit_sent"
"""The entry of `meta`: JSON {chain: number up to which the warehouse has it}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times (UTC ms) before which a record goes: once sent, and sent or not.

    `sent` is chain -> up to which number the warehouse has it; None where there is no warehouse.
    """

    old_ms: int
    ancient_ms: int
    sent: dict[str, int] | None


def limits(db: apsw.Connection, now_ms: int, keep_days: int) -> Limits:
    """What goes now, by the replica's file and the setting `audit.keep_days`."""
    sent = None
    if meta(db, "hub_id") is not None:
        sent = dict.fromkeys((WRITES, READS), 0) | sent_of(db)
    return Limits(
        old_ms=now_ms - keep_days * DAY_MS,
        ancient_ms=now_ms - UNSENT_TIMES * keep_days * DAY_MS,
        sent=sent,
    )


def rotated(db: apsw.Connection, replica_id: bytes, name: str, limits: Limits) -> list[Draft]:
    """Remove what is too old of the chain `name`, and all of chains of ids that the file had.

    Returns the records that tell of it, to be appended in this transaction.
    """
    drafts = [
        _whole(db, one) for one in chain.ids(db) if one != replica_id and _over(db, one, limits)
    ]
    cut = _cut(db, replica_id, name, limits)
    if cut is not None:
        drafts.append(Draft(action=ROTATED, detail={"seq": cut.seq, "link": cut.link.hex()}))
        db.execute("DELETE FROM audit WHERE replica_id = ? AND seq <= ?", (replica_id, cut.seq))
    return drafts


def _cut(db: apsw.Connection, replica_id: bytes, name: str, limits: Limits) -> Record | None:
    """The last record that goes."""
    first = next(chain.records(db, replica_id, limit=1), None)
    if first is None or first.at >= limits.old_ms - SLACK_MS:
        return None
    sent = None if limits.sent is None else limits.sent[name]
    cut = None
    for record in chain.records(db, replica_id):
        old = limits.old_ms if sent is None or record.seq <= sent else limits.ancient_ms
        if record.at >= old:
            break
        cut = record
    return cut


def _over(db: apsw.Connection, replica_id: bytes, limits: Limits) -> bool:
    newest = "SELECT max(at) FROM audit WHERE replica_id = ?"
    found = db.execute(newest, (replica_id,)).get
    old = limits.old_ms if limits.sent is None else limits.ancient_ms
    return found is not None and int(found) < old


def _whole(db: apsw.Connection, replica_id: bytes) -> Draft:
    """Remove a chain that ended when the file took another id."""
    last = chain.last(db, replica_id)
    seq, link = (last.seq, last.link.hex()) if last else (0, "")
    for table in ("audit", "audit_head"):
        db.execute(f"DELETE FROM {table} WHERE replica_id = ?", (replica_id,))
    return Draft(action=ROTATED, detail={"replica_id": replica_id.hex(), "seq": seq, "link": link})


def sent_of(db: apsw.Connection) -> dict[str, int]:
    """Chain -> number up to which the warehouse has it, as it said last; {} for what is damaged."""
    try:
        found = json.loads(str(meta(db, SENT) or "{}"))
    except (ValueError, RecursionError):
        return {}
    return {
        str(name): seq
        for name, seq in (found.items() if isinstance(found, dict) else ())
        if type(seq) is int
    }
