"""Reading what a write by hand may have left: text that is no UTF-8, values of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from satchel.store.sql import row_columns
from satchel_sync.tables import Table


def read_row(db: apsw.Connection, table: Table, row: int) -> Sequence[Any]:
    """A row as `row_columns`, whatever was put into it; bytes where text is no UTF-8."""
    return read_columns(db, table, row_columns(table).split(", "), row)


def read_columns(
    db: apsw.Connection, table: Table, columns: Sequence[str], row: int
) -> Sequence[Any]:
    """Some columns of a row, whatever was put into them; bytes where text is no UTF-8."""
    where = f"FROM {table.name} WHERE row = ?"
    found: Sequence[Any] | None
    try:
        found = db.execute(f"SELECT {', '.join(columns)} {where}", (row,)).fetchone()
    except UnicodeDecodeError:
        # Only a write by hand can leave such text; ask for the bytes of what cannot be read.
        found = [read_value(db, name, where, row) for name in columns]
    if found is None:
        raise LookupError(f"{table.name} has no row {row}")
    return found


def read_value(db: apsw.Connection, column: str, where: str, parameter: int) -> Any:
    """One value, as bytes where it is text that is no UTF-8."""
    try:
        return db.execute(f"SELECT {column} {where}", (parameter,)).get
    except UnicodeDecodeError:
        return db.execute(f"SELECT CAST({column} AS BLOB) {where}", (parameter,)).get


def plain(value: Any) -> Any:
    """A value that JSON can hold, also where the row's could not travel."""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if isinstance(value, str):
        return value.replace("\0", "\\0").encode(errors="backslashreplace").decode()
    if isinstance(value, float) and abs(value) == float("inf"):
        return str(value)
    return value
