"""The conflict journal of this machine: versions that lost to one they had not seen."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import apsw

from satchel.store.codec import pack_values, unpack_values
from satchel_sync.changes import Loser, Row
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.subjects import origins
from satchel_sync.tables import BY_NAME, MEMORY

COLUMNS = "kind, key, version, lineage, content, winner, path, at_ms"


def add(db: apsw.Connection, loser: Loser) -> bool:
    """Keep a loser, once. Whether it was new; nothing is kept of a row that was forgotten.

    That may have happened while the hub's answer was on the way, so the row is asked, too.
    """
    if loser.winner == SCRUBBED:
        return False
    table = BY_NAME[loser.kind]
    db.execute(
        f"INSERT INTO conflict({COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
        f" WHERE NOT EXISTS (SELECT 1 FROM {table.name} WHERE {table.key} = ?2"
        f" AND life = {SCRUBBED.life} AND hlc = {SCRUBBED.hlc})"
        " ON CONFLICT(kind, key, version) DO NOTHING",
        (
            *(loser.kind, loser.row.key, loser.row.stamp.hex(), loser.row.lineage),
            pack_values(table, loser.row.values),
            *(loser.winner.hex(), loser.path, loser.at_ms),
        ),
    )
    return bool(db.changes())


def listed(db: apsw.Connection, *, unsent: bool = False, limit: int = -1) -> list[Loser]:
    """Losers, oldest first; with `unsent` those that the hub does not have yet."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM conflict WHERE ? OR sent = 0"
        " ORDER BY at_ms, kind, key, version LIMIT ?",
        (not unsent, limit),
    )
    return [
        Loser(
            kind=str(kind),
            row=Row(
                *(str(key), Stamp.parse(version), str(lineage)),
                unpack_values(BY_NAME[str(kind)], str(content)),
            ),
            winner=Stamp.parse(winner),
            path=str(path),
            at_ms=int(at_ms),
        )
        for kind, key, version, lineage, content, winner, path, at_ms in found
    ]


def sent(db: apsw.Connection, losers: Sequence[Loser]) -> None:
    """Mark losers as known to the hub."""
    db.executemany(
        "UPDATE conflict SET sent = 1 WHERE kind = ? AND key = ? AND version = ?",
        ((loser.kind, loser.row.key, loser.row.stamp.hex()) for loser in losers),
    )


def scrub(db: apsw.Connection, kind: str, keys: Sequence[str]) -> None:
    """Forget the journal of rows that were scrubbed."""
    db.executemany("DELETE FROM conflict WHERE kind = ? AND key = ?", ((kind, key) for key in keys))


def scrub_made(db: apsw.Connection, keys: Collection[str]) -> None:
    """Forget lost versions of memories that were made of these rows."""
    at = MEMORY.names.index("metadata")
    found = db.execute("SELECT key, version, content FROM conflict WHERE kind = 'memory'")
    made = [
        (str(key), str(version))
        for key, version, content in found.fetchall()
        if any(one in keys for one in origins(unpack_values(MEMORY, str(content))[at]))
    ]
    db.executemany("DELETE FROM conflict WHERE kind = 'memory' AND key = ? AND version = ?", made)
