"""Whether a file is in this program's schema already: then nothing of `migrate` has to be loaded.

Constants in place of what is made of the migrations and the triggers, because every command opens
the file and next to none finds it old. A test holds them equal.
"""

from __future__ import annotations

import apsw

APPLICATION_ID = 0x53544348
"""`STCH` in the file's header: a satchel replica."""
SCHEMA = 6
"""`migrate.latest()`."""
TRIGGERS = 2_383_241_387
"""`triggers.mark()`."""


def is_current(db: apsw.Connection) -> bool:
    """Whether the file is a replica with this schema and these triggers; only reads."""
    for pragma, ours in (("application_id", APPLICATION_ID), ("user_version", SCHEMA)):
        if db.execute(f"PRAGMA {pragma}").get != ours:
            return False
    mark = db.execute("SELECT value FROM meta WHERE name = 'triggers'").get
    return bool(mark == TRIGGERS)
