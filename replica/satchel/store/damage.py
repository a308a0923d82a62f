"""Rows whose content does not fit their version: found by reading all, healed from a whole copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from satchel.store import lenient, outbox, quarantine, touched, wiping
from satchel.store.codec import upsert
from satchel.store.sql import row_columns
from satchel.store.triggers import TEXT_COLUMNS
from satchel_sync.digest import row_digest
from satchel_sync.row import Row
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import Table

_STAYS = (
    "{key} IN (SELECT key FROM withheld WHERE kind = '{kind}')"
    " OR {key} IN (SELECT key FROM quarantine WHERE kind = '{kind}')"
)
"""Whether a row is none of the hub's: local, or unable to travel."""


def damaged(db: apsw.Connection, table: Table) -> frozenset[str]:
    """Keys of sealed rows whose content has another digest; reads every row that can travel."""
    return frozenset(str(found[0]) for found in _all(db, table) if not _fits(table, found))


def held(db: apsw.Connection, table: Table, keys: Sequence[str]) -> list[Row]:
    """Rows by key; missing and local ones are left out, and those that cannot travel."""
    stays = _STAYS.format(key="?1", kind=table.name)
    free = [key for key in keys if not db.execute(f"SELECT {stays}", (key,)).get]
    found = [row for key in free if (row := outbox.row(db, table, key))]
    return [row for row in found if row.stamp.digest != outbox.UNSENDABLE]


def heal(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> int:
    """Put content back where the same version is held with other content; how many rows.

    No new version and no outbox entry; inside a write transaction.
    """
    whole = [row for row in rows if _fits(table, (row.key, *row.stamp, "", *row.values))]
    wanted = [row for row in whole if _is_torn(db, table, row)]
    if not wanted:
        return 0
    index_anew(db, table)
    db.execute("UPDATE control SET applying = 1")
    upsert(db, table, wanted)
    db.execute("UPDATE control SET applying = 0")
    wiping.owe(db, [row.key for row in wanted if row.stamp == SCRUBBED])
    outbox.bump(db)
    touched.note("healed", table.name, [row.key for row in wanted])
    return len(wanted)


def index_anew(db: apsw.Connection, table: Table) -> None:
    """Make the text index of a table from what the table holds; inside a write transaction.

    Whoever passed by the triggers left another text in the index, and FTS5 takes out only what is
    in it: a change of such a row fails as if the file were corrupt.
    """
    if table.name in TEXT_COLUMNS:
        db.execute(f"INSERT INTO {table.name}_fts({table.name}_fts) VALUES('rebuild')")


def _is_torn(db: apsw.Connection, table: Table, row: Row) -> bool:
    number = db.execute(f"SELECT row FROM {table.name} WHERE {table.key} = ?", (row.key,)).get
    if number is None:
        return False
    found = lenient.read_row(db, table, number)
    return tuple(found[1:5]) == tuple(row.stamp) and not _fits(table, found)


def _fits(table: Table, found: Sequence[Any]) -> bool:
    """Whether a row (as `row_columns`) has the digest that its stamp says."""
    key, digest, values = found[0], found[4], tuple(found[6:])
    if tuple(found[1:5]) == tuple(SCRUBBED):
        return all(value is None for value in values)
    if digest is None:
        return True  # written a moment ago, not sealed yet
    if quarantine.inspect(table, key, values) is not None:
        return bool(digest == outbox.UNSENDABLE)
    return bool(row_digest(table, key, values) == digest)


def _all(db: apsw.Connection, table: Table) -> Iterator[Sequence[Any]]:
    """Every row that can travel, as `row_columns`; one that cannot be read at once, by itself."""
    source = f"FROM {table.name} WHERE NOT ({_STAYS.format(key=table.key, kind=table.name)})"
    try:
        yield from db.execute(f"SELECT {row_columns(table)} {source}")
    except UnicodeDecodeError:
        for (number,) in db.execute(f"SELECT row {source}").fetchall():
            yield lenient.read_row(db, table, int(str(number)))
