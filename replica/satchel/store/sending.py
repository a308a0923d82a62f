"""Taking rows out of the outbox for one push."""

from __future__ import annotations

import apsw

from satchel.store import outbox, quarantine, seal
from satchel.store.codec import row_columns, row_of
from satchel_sync.changes import Batch, Row
from satchel_sync.limits import PUSH_BYTES_MAX, PUSH_ROWS_MAX
from satchel_sync.tables import Table


def next_batch(
    db: apsw.Connection, table: Table, after: int, upto: int, now_ms: int
) -> Batch | None:
    """Rows after `after`, as many as one push may hold, marked as sent; None when there are none.

    A row that cannot travel goes to the quarantine and out of the outbox.
    """
    rows: list[Row] = []
    held_back, last_seq, size = 0, after, 0
    entries = list(outbox.waiting(db, table, after, upto, PUSH_ROWS_MAX))
    if not entries:
        return None
    for local_seq, key in entries:
        found = _row_or_fault(db, table, key)
        if isinstance(found, Row):
            size += quarantine.row_bytes(found.key, found.values)
            if rows and size > PUSH_BYTES_MAX:
                break
            rows.append(found)
        else:
            quarantine.put(db, table, key, found, now_ms)
            outbox.drop(db, table, [key])
            held_back += 1
        last_seq = local_seq
    outbox.mark_sent(db, table, rows)
    if db.execute("SELECT EXISTS (SELECT 1 FROM quarantine WHERE kind = ?)", (table.name,)).get:
        quarantine.lift(db, table, [row.key for row in rows])
    if held_back:
        outbox.bump(db)
    return Batch(tuple(rows), last_seq, held_back)


def _row_or_fault(db: apsw.Connection, table: Table, key: str) -> Row | tuple[str | None, str]:
    where = f"FROM {table.name} WHERE {table.key} = ?"
    try:
        found = db.execute(f"SELECT {row_columns(table)} {where}", (key,)).fetchone()
        if found is None:
            return None, "the row is gone"
        key, values = found[0], tuple(found[6:])
    except UnicodeDecodeError:
        found = None
        key, values = seal.read_values(db, table, db.execute(f"SELECT row {where}", (key,)).get)
    fault = quarantine.inspect(table, key, values)
    if fault is not None or found is None:
        return fault or (None, "the row holds text that is no UTF-8")
    return row_of(found)
