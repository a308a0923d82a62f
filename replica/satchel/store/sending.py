"""Taking rows out of the outbox for one push."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from satchel.store import outbox, quarantine, seal
from satchel.store.codec import row_columns, row_of
from satchel_sync.changes import Batch, Row
from satchel_sync.limits import PUSH_BYTES_MAX, PUSH_ROWS_MAX
from satchel_sync.tables import Table

Fault = tuple[str | None, str]
"""Column and reason of a row that cannot travel."""


def next_batch(
    db: apsw.Connection, table: Table, after: int, upto: int, now_ms: int
) -> Batch | None:
    """Rows after `after`, as many as one push may hold, marked as sent; None when there are none.

    A row that cannot travel goes to the quarantine and out of the outbox.
    """
    rows: list[Row] = []
    held_back, last_seq, size = 0, after, 0
    for local_seq, found in _waiting(db, table, after, upto):
        if isinstance(found, Row):
            size += quarantine.row_bytes(found.key, found.values)
            if rows and size > PUSH_BYTES_MAX:
                break
            rows.append(found)
        else:
            quarantine.move(db, table, local_seq, found, now_ms)
            held_back += 1
        last_seq = local_seq
    if last_seq == after:
        return None
    outbox.mark_sent(db, table, rows)
    quarantine.lift(db, table, [row.key for row in rows])
    if held_back:
        outbox.bump(db)
    return Batch(tuple(rows), last_seq, held_back)


def _waiting(
    db: apsw.Connection, table: Table, after: int, upto: int
) -> Iterator[tuple[int, Row | Fault]]:
    """(local_seq, row or its fault) of the entries in that range, in order, read one by one."""
    entries: list[Any] = db.execute(
        f"SELECT local_seq, t.row FROM outbox AS o LEFT JOIN {table.name} AS t"
        f" ON t.{table.key} = o.key"
        " WHERE o.kind = ? AND local_seq > ? AND local_seq <= ? ORDER BY local_seq LIMIT ?",
        (table.name, after, upto, PUSH_ROWS_MAX),
    ).fetchall()
    for local_seq, row in entries:
        yield local_seq, _row_or_fault(db, table, row)


def _row_or_fault(db: apsw.Connection, table: Table, row: int | None) -> Row | Fault:
    if row is None:
        return None, "the row is gone"
    found: Any
    try:
        found = db.execute(
            f"SELECT {row_columns(table)} FROM {table.name} WHERE row = ?", (row,)
        ).fetchone()
        key, values = found[0], found[6:]
    except UnicodeDecodeError:
        key, values = seal.read_values(db, table, row)
    return quarantine.inspect(table, key, values) or row_of(found)
