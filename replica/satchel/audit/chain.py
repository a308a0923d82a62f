"""The SQL of a chain: the same two tables in satchel.db (writes) and in activity.db (reads)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from satchel_crypto.audit_record import Record

SCHEMA = """
CREATE TABLE IF NOT EXISTS audit (
  replica_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL,
  PRIMARY KEY (replica_id, seq)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit_head (
  replica_id BLOB PRIMARY KEY,
  seq INTEGER NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL,
  at INTEGER NOT NULL,
  anchored_at INTEGER NOT NULL
) WITHOUT ROWID;
"""
"""As migration 0005 of satchel.db makes them; a reader need not read that file."""

Place = tuple[bytes, int, bytes, bytes]


class Kept(NamedTuple):
    """The row of `audit_head`: where a chain stands, and when the other one was named last.

    `passed`: there are records behind it, which nobody can have written who keeps heads.
    """

    replica_id: bytes
    seq: int
    link: bytes
    mac: bytes
    at: int
    anchored_at: int
    passed: bool = False

    @property
    def place(self) -> Place:
        """What the MAC stands over, and the MAC."""
        return self[:4]


def prepare(db: apsw.Connection) -> None:
    """Make the tables where they are not there yet."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit_head'").get is not None:
        return
    db.execute(SCHEMA)


def kept(db: apsw.Connection, replica_id: bytes) -> Kept | None:
    """Where the chain of that id stands, or None."""
    return _one(db, "WHERE replica_id = ?", (replica_id,))


def before(db: apsw.Connection, replica_id: bytes) -> Kept | None:
    """Where the chain stands that was written last under another id."""
    return _one(db, "WHERE replica_id <> ? ORDER BY at DESC LIMIT 1", (replica_id,))


def keep(db: apsw.Connection, head: Kept) -> None:
    """Remember where a chain stands."""
    db.execute(
        "INSERT INTO audit_head(replica_id, seq, link, mac, at, anchored_at)"
        " VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(replica_id) DO UPDATE SET seq = excluded.seq,"
        " link = excluded.link, mac = excluded.mac, at = excluded.at,"
        " anchored_at = excluded.anchored_at",
        head[:6],
    )


def add(
    db: apsw.Connection, replica_id: bytes, seq: int, at: int, body: str, link: bytes, mac: bytes
) -> None:
    """Store a record."""
    db.execute(
        "INSERT INTO audit(replica_id, seq, at, body, link, mac) VALUES(?, ?, ?, ?, ?, ?)",
        (replica_id, seq, at, body, link, mac),
    )


def last(db: apsw.Connection, replica_id: bytes) -> Record | None:
    """The last record of a chain, whatever its head says."""
    newest = "ORDER BY seq DESC LIMIT 1"
    return next(_records(db, f"WHERE replica_id = ? {newest}", (replica_id,)), None)


def records(
    db: apsw.Connection, replica_id: bytes, *, after: int = 0, limit: int = -1
) -> Iterator[Record]:
    """The records of a chain behind number `after`, in order; all, or so many."""
    where = "WHERE replica_id = ? AND seq > ? ORDER BY seq LIMIT ?"
    return _records(db, where, (replica_id, after, limit))


def newest(
    db: apsw.Connection, *, since: int | None = None, until: int | None = None
) -> Iterator[Record]:
    """Records of all chains, the newest first, of since <= at < until (UTC ms)."""
    where = "WHERE (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2)"
    return _records(db, f"{where} ORDER BY at DESC, replica_id, seq DESC", (since, until))


def saying(
    db: apsw.Connection, actions: Sequence[str], replica_id: bytes | None = None
) -> Iterator[Record]:
    """Records, oldest first, whose body has one of these actions, of one chain or of all."""
    return holding(db, [f'"action":"{action}"' for action in actions], replica_id)


def holding(
    db: apsw.Connection, texts: Sequence[str], replica_id: bytes | None = None
) -> Iterator[Record]:
    """Records, oldest first, whose body holds one of these texts, of one chain or of all."""
    alike = " OR ".join(f"instr(body, '{text}')" for text in texts)
    where = f"WHERE (?1 IS NULL OR replica_id = ?1) AND ({alike}) ORDER BY replica_id, seq"
    return _records(db, where, (replica_id,))


def times(db: apsw.Connection, replica_id: bytes) -> tuple[int, int] | None:
    """When (UTC ms) the first and the last record of a chain were written."""
    first = next(records(db, replica_id, limit=1), None)
    newest = last(db, replica_id)
    return None if first is None or newest is None else (first.at, newest.at)


def ids(db: apsw.Connection) -> list[bytes]:
    """The replica ids under which there is a chain, the one written last at the end."""
    found = db.execute(
        "SELECT replica_id FROM (SELECT replica_id, at FROM audit_head UNION ALL"
        " SELECT replica_id, max(at) FROM audit GROUP BY replica_id)"
        " GROUP BY replica_id ORDER BY max(at)"
    )
    return [replica_id for (replica_id,) in found if isinstance(replica_id, bytes)]


def _records(db: apsw.Connection, where: str, parameters: tuple[Any, ...]) -> Iterator[Record]:
    """Columns that somebody gave another type are told as bytes or -1, and so fit nowhere."""
    query = f"SELECT seq, at, CAST(body AS BLOB), link, mac FROM audit {where}"
    found: Any = db.execute(query, parameters)
    for seq, at, body, link, mac in found:
        yield Record(
            seq=seq if isinstance(seq, int) else -1,
            at=at if isinstance(at, int) else -1,
            body=bytes(body).decode("utf-8", "surrogateescape"),
            link=_bytes(link),
            mac=_bytes(mac),
        )


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "backslashreplace")


def _one(db: apsw.Connection, where: str, parameters: tuple[Any, ...]) -> Kept | None:
    behind = "SELECT 1 FROM audit WHERE replica_id = h.replica_id AND seq > h.seq"
    columns = f"replica_id, seq, link, mac, at, anchored_at, EXISTS ({behind})"
    found: Any = db.execute(f"SELECT {columns} FROM audit_head AS h {where}", parameters).fetchone()
    if found is None:
        return None
    replica_id, seq, link, mac, at, anchored_at, passed = found
    return Kept(
        replica_id=_bytes(replica_id),
        seq=seq if isinstance(seq, int) else 0,
        link=_bytes(link),
        mac=_bytes(mac),
        at=at if isinstance(at, int) else 0,
        anchored_at=anchored_at if isinstance(anchored_at, int) else 0,
        passed=bool(passed),
    )
