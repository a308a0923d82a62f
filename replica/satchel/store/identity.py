"""Who this replica is: 16 random bytes, drawn once and kept in the file.

How a file gets another id is in `succession`; every command reads this.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from satchel.errors import StoreUnusable
from satchel_crypto import random_bytes

ID_BYTES = 16
RESTORED = "restored"
"""Entry of `meta`: a random word of the last restore, which a program that had it open misses."""


def make(db: apsw.Connection) -> None:
    """Draw the id unless the file has one; needs a write transaction."""
    db.execute(
        "UPDATE control SET replica_id = ? WHERE replica_id IS NULL", (random_bytes(ID_BYTES),)
    )


def load(db: apsw.Connection) -> bytes:
    """The id of this file."""
    return bytes(db.execute("SELECT replica_id FROM control").get)


def known(db: apsw.Connection) -> tuple[bytes, str | None]:
    """The id of this file, and the fingerprints that it was opened with, space-separated."""
    query = "SELECT replica_id, (SELECT value FROM meta WHERE name = 'fingerprint') FROM control"
    found: Any = db.execute(query).fetchone()
    return bytes(found[0]), found[1]


def restored(db: apsw.Connection) -> str | None:
    """The word of the restore that this file came by, None where it came by none."""
    found: str | None = db.execute("SELECT value FROM meta WHERE name = ?", (RESTORED,)).get
    return found


def require_same(db: apsw.Connection, path: Path, word: str | None) -> None:
    """Raise StoreUnusable when the file was restored since it was opened; `word` was its then.

    A sync that stays in touch knows how far the file had come: it must not go on from there.
    """
    if restored(db) != word:
        raise StoreUnusable(
            f"{path} was restored from a backup while this program had it open",
            hint="start this program again; what it was about to write now is not written",
        )
