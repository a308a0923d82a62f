"""The outbox: which rows changed here since they were last sent, in order of local sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import apsw

from satchel.store import lenient
from satchel.store.codec import row_of
from satchel_sync.row import Row
from satchel_sync.stamp import Stamp
from satchel_sync.tables import EXTRA, Table, Value

UNSENDABLE = bytes(8)
"""The digest of a row that has no canonical bytes (text in an int column): it never travels."""


def end(db: apsw.Connection) -> int:
    """The last local sequence number given."""
    return int(db.execute("SELECT seq FROM clock").get)


def bump(db: apsw.Connection) -> int:
    """Draw a local sequence number, so that whatever is cached by it is known to be old."""
    return int(db.execute("UPDATE clock SET seq = seq + 1 RETURNING seq").get)


def count(db: apsw.Connection, table: Table) -> int:
    """How many rows of this kind wait."""
    found = db.execute("SELECT count(*) FROM outbox WHERE kind = ?", (table.name,)).get
    return int(found)


def waiting(db: apsw.Connection, upto: int) -> dict[str, int]:
    """Kind -> how many entries have a local sequence number up to `upto`."""
    query = "SELECT kind, count(*) FROM outbox WHERE local_seq <= ? GROUP BY kind"
    return {str(kind): int(str(rows)) for kind, rows in db.execute(query, (upto,))}


def put(db: apsw.Connection, table: Table, keys: Iterable[str]) -> None:
    """Queue rows again; local ones are left out, and so is a key that no row has."""
    for key in keys:
        db.execute(
            "INSERT INTO outbox(kind, key, local_seq)"
            f" SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM {table.name} WHERE {table.key} = ?2)"
            " AND NOT EXISTS (SELECT 1 FROM withheld WHERE kind = ?1 AND key = ?2)"
            " ON CONFLICT(kind, key) DO UPDATE SET local_seq = excluded.local_seq",
            (table.name, key, bump(db)),
        )


def put_all(db: apsw.Connection, table: Table) -> None:
    """Queue every row of a kind again but the local ones."""
    db.execute(
        "INSERT INTO outbox(kind, key, local_seq)"
        f" SELECT ?1, t.{table.key}, seq + row FROM {table.name} AS t, clock"
        f" WHERE t.{table.key} NOT IN (SELECT key FROM withheld WHERE kind = ?1)"
        " ON CONFLICT(kind, key) DO UPDATE SET local_seq = excluded.local_seq",
        (table.name,),
    )
    db.execute(
        "UPDATE clock SET seq = max(seq, (SELECT coalesce(max(local_seq), 0) FROM outbox"
        " WHERE kind = ?)) + 1",
        (table.name,),
    )


def drop(db: apsw.Connection, table: Table, keys: Iterable[str]) -> None:
    """Remove entries, whatever version their row has."""
    db.executemany(
        "DELETE FROM outbox WHERE kind = ? AND key = ?", ((table.name, key) for key in keys)
    )


def clear(db: apsw.Connection, table: Table, sent: Iterable[tuple[str, Stamp]]) -> None:
    """Remove entries whose row still has the version that was sent; an edit in flight stays."""
    db.executemany(
        "DELETE FROM outbox WHERE kind = ?1 AND key = ?2 AND EXISTS ("
        f" SELECT 1 FROM {table.name} WHERE {table.key} = ?2"
        " AND life = ?3 AND hlc = ?4 AND origin = ?5 AND digest = ?6)",
        ((table.name, key, *stamp) for key, stamp in sent),
    )


def mark_sent(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
    """Remember these versions as the last ones that left or reached this machine."""
    db.executemany(
        "INSERT INTO sync_base(kind, key, version) VALUES(?, ?, ?)"
        " ON CONFLICT(kind, key) DO UPDATE SET version = excluded.version",
        [(table.name, row.key, row.stamp.hex()) for row in rows],
    )


def row(db: apsw.Connection, table: Table, key: str) -> Row | None:
    """The sealed row of this key, or None; text that is no UTF-8 is told as a history tells it."""
    number = db.execute(f"SELECT row FROM {table.name} WHERE {table.key} = ?", (key,)).get
    if number is None:
        return None
    found = row_of(lenient.read_row(db, table, number))
    return (
        found if found.stamp.digest != UNSENDABLE else replace(found, values=_plain(table, found))
    )


def _plain(table: Table, row: Row) -> tuple[Value, ...]:
    """The values of a row that cannot travel, so that a journal can hold them."""
    blobs = {column.name for column in table.columns if column.tag == "b"}
    return tuple(
        value if isinstance(value, bytes) and name in blobs else lenient.plain(value)
        for name, value in zip((*table.names, EXTRA), row.values, strict=True)
    )
