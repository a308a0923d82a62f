"""Who this replica is: 16 random bytes, drawn once and kept in the file.

How a file gets another id is in `succession`; every command reads this.
"""

from __future__ import annotations

from typing import Any

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


def known(db: apsw.Connection) -> tuple[bytes, str | None]:
    """The id of this file, and the fingerprints that it was opened with, space-separated."""
    query = "SELECT replica_id, (SELECT value FROM meta WHERE name = 'fingerprint') FROM control"
    found: Any = db.execute(query).fetchone()
    return bytes(found[0]), found[1]
