"""Anchors: from time to time each chain names where the other one stands.

Inside a write transaction of satchel.db: activity.db first gets a record that names the head of the
writes committed before, and is brought to the disk; only then satchel.db names the head of the
reads. So what an anchor names is on the disk, whenever the power goes.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from satchel.audit import chain, rotation
from satchel.audit.chain import Kept
from satchel.audit.reads import connected
from satchel.audit.scribe import Draft, Scribe
from satchel_crypto.audit_record import ANCHOR, READS, WRITES


def anchored(
    scribe: Scribe, home: Path, writes: Kept, now_ms: int, limits: rotation.Limits
) -> list[Draft]:
    """Name the head of the writes among the reads, and return the record that names theirs.

    None where activity.db cannot be written now: no memory is refused for that, and `doctor` tells.
    """
    try:
        reads = _named_there(scribe, home, writes, now_ms, limits)
    except (apsw.Error, OSError):
        return [Draft(action=ANCHOR, detail={"chain": READS, "missed": 1})]
    return [_anchor(READS, reads)]


def _named_there(
    scribe: Scribe, home: Path, writes: Kept, now_ms: int, limits: rotation.Limits
) -> Kept:
    with connected(home, durable=True) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            replica_id = writes.replica_id
            drafts = rotation.rotated(db, replica_id, READS, limits)
            drafts.append(_anchor(WRITES, writes))
            held = chain.kept(db, replica_id)
            head = scribe.append(db, READS, replica_id, now_ms, drafts, held)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
    return head


def _anchor(name: str, head: Kept) -> Draft:
    detail: dict[str, str | int] = {
        "chain": name,
        "replica_id": head.replica_id.hex(),
        "seq": head.seq,
        "link": head.link.hex(),
    }
    return Draft(action=ANCHOR, detail=detail)
