"""Who this replica is: 16 random bytes, drawn once and kept in the file."""

from __future__ import annotations

import apsw

from satchel_crypto import random_bytes

ID_BYTES = 16


def make(db: apsw.Connection) -> None:
    """Draw the id unless the file has one; needs a write transaction."""
    db.execute(
        "UPDATE control SET replica_id = ? WHERE replica_id IS NULL", (random_bytes(ID_BYTES),)
    )


def load(db: apsw.Connection) -> bytes:
    """The id of this file."""
    return bytes(db.execute("SELECT replica_id FROM control").get)
