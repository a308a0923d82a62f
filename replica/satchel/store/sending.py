"""Taking rows out of the outbox for one push."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from satchel.store import lenient, outbox, quarantine
from satchel.store.codec import row_of
from satchel.store.fitness import plain_bytes, plain_version
from satchel.store.sql import row_columns
from satchel_sync.changes import Batch, Row
from satchel_sync.limits import PUSH_BYTES_MAX, PUSH_ROWS_MAX, ROW_BYTES_MAX
from satchel_sync.tables import Table


def next_batch(
    db: apsw.Connection, table: Table, after: int, upto: int, now_ms: int
) -> Batch | None:
    """Rows after `after`, as many as one push may hold, marked as sent; None when there are none.

    A row that cannot travel goes to the quarantine and out of the outbox.
    """
    try:
        rows, faults, last_seq = _gather(table, after, _entries(db, table, after, upto))
    except UnicodeDecodeError:
        # Somebody left text here that is no text: find out where, row by row.
        rows, faults, last_seq = _gather(table, after, _wary(db, table, after, upto))
    if last_seq == after:
        return None
    for row, fault in faults:
        quarantine.move(db, table, row, fault, now_ms)
    outbox.mark_sent(db, table, rows)
    quarantine.lift(db, table, [row.key for row in rows])
    if faults:
        outbox.bump(db)
    return Batch(tuple(rows), last_seq, len(faults))


def _gather(
    table: Table, after: int, entries: Iterable[tuple[int, int, Sequence[Any]]]
) -> tuple[list[Row], list[tuple[int, quarantine.Fault]], int]:
    """(rows, (row number, fault) of the others, last local_seq), up to the limit in bytes."""
    rows: list[Row] = []
    faults: list[tuple[int, quarantine.Fault]] = []
    last_seq, size = after, 0
    for local_seq, row, found in entries:
        fault, taken = _judged(table, found)
        if fault:
            faults.append((row, fault))
        else:
            size += taken
            if rows and size > PUSH_BYTES_MAX:
                break
            rows.append(row_of(found))
        last_seq = local_seq
    return rows, faults, last_seq


def _judged(table: Table, found: Sequence[Any]) -> tuple[quarantine.Fault | None, int]:
    """(what keeps a row from travelling, its bytes); plain rows are told without a closer look."""
    key, version, values = found[0], found[1:6], found[6:]
    taken = plain_bytes(table, key, values)
    if taken is None or taken > ROW_BYTES_MAX:
        if fault := quarantine.inspect(table, key, values):
            return fault, 0
        taken = quarantine.row_bytes(key, values)
    return None if plain_version(version) else quarantine.version_fault(version), taken


def _entries(
    db: apsw.Connection, table: Table, after: int, upto: int
) -> Iterator[tuple[int, int, Sequence[Any]]]:
    """(local_seq, row number, row as `row_columns`) of the outbox in that range, in order."""
    for local_seq, row, *found in _select(db, table, f", {row_columns(table, 't')}", after, upto):
        yield int(str(local_seq)), int(str(row)), found


def _wary(
    db: apsw.Connection, table: Table, after: int, upto: int
) -> Iterator[tuple[int, int, Sequence[Any]]]:
    """The same, with bytes where text is no UTF-8."""
    for local_seq, row in _select(db, table, "", after, upto).fetchall():
        number = int(str(row))
        yield int(str(local_seq)), number, lenient.read_row(db, table, number)


def _select(db: apsw.Connection, table: Table, columns: str, after: int, upto: int) -> apsw.Cursor:
    return db.execute(
        f"SELECT local_seq, t.row{columns} FROM outbox AS o JOIN {table.name} AS t"
        f" ON t.{table.key} = o.key WHERE o.kind = ? AND local_seq > ? AND local_seq <= ?"
        " ORDER BY local_seq LIMIT ?",
        (table.name, after, upto, PUSH_ROWS_MAX),
    )
