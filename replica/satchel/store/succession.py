"""How a file takes a new id: as a copy, when the hub knows more of it, when it is adopted."""

from __future__ import annotations

import apsw

from satchel.store.identity import ID_BYTES, known, load
from satchel.store.meta import meta, set_meta
from satchel_crypto import random_bytes

FINGERPRINTS_MAX = 8
COPIED = "this file was copied or moved: it took a new replica id"
"""Why a file whose fingerprint differs takes a new id."""


def predecessors(db: apsw.Connection) -> tuple[bytes, ...]:
    """The ids that this file had before, newest first."""
    joined = bytes(meta(db, "predecessors") or b"")
    return tuple(joined[at : at + ID_BYTES] for at in range(0, len(joined), ID_BYTES))


def ours(db: apsw.Connection) -> frozenset[bytes]:
    """The ids under which this file ever stamped rows."""
    return frozenset((load(db), *predecessors(db)))


def recognise(db: apsw.Connection, fingerprint: str) -> None:
    """Keep the fingerprint; take a new id if it is none that the file had. In a write transaction.

    It is asked again inside: of processes that find it at once, one does it. A file that is used
    from a host and from containers in turn has several, of one file number: each is new but once.
    """
    kept = (known(db)[1] or "").split()
    if fingerprint in kept:
        return
    if kept:
        succeed(db, COPIED)
    number = fingerprint.rpartition("-")[2]
    same_file = [one for one in kept if one.rpartition("-")[2] == number]
    set_meta(db, "fingerprint", " ".join([fingerprint, *same_file][:FINGERPRINTS_MAX]))


def said(db: apsw.Connection) -> None:
    """Remember that a hub may have heard of this id; needs a write transaction."""
    if meta(db, "said") != load(db):
        set_meta(db, "said", load(db))


def succeed(db: apsw.Connection, why: str) -> None:
    """Take a new id that names the one of before as its predecessor; needs a write transaction.

    The chain of attempts, the token and the cursors stay: by them the hub knows the file. A
    pending attempt was the old id's, so a new one is drawn with the next hello. An id under which
    nothing was written or said is nobody's predecessor: on a file system that numbers its files
    anew each time there would be no end of them.
    """
    old, seq = load(db), db.execute("SELECT seq FROM clock").get
    used = meta(db, "succeeded_seq") != seq or meta(db, "said") == old
    if used:
        set_meta(db, "predecessors", b"".join((old, *predecessors(db))))
    set_meta(db, "attempt", None)
    set_meta(db, "succeeded_why", why)
    set_meta(db, "succeeded_seq", seq)
    db.execute("UPDATE control SET replica_id = ?", (random_bytes(ID_BYTES),))
