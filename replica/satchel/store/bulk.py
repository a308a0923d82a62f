"""Storing many rows that are new here: no trigger runs, and what triggers do is done for all.

A trigger that fires for each of a thousand rows takes four times as long as the insert, and one
that feeds FTS5 twice that. A test holds both ways equal, for every kind and table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import apsw

from satchel.store import vector_triggers
from satchel.store.codec import row_parameters
from satchel.store.embedded_text import text_hash
from satchel.store.sql import row_columns
from satchel.store.triggers import TEXT_COLUMNS
from satchel_sync.row import Row
from satchel_sync.tables import MEMORY, Table

ROWS_MIN = 200
"""For fewer rows, to compile the statements anew takes longer than their triggers do."""
_ROW_MAX = 1 << 62
"""Far above any row number that SQLite gives: behind its last one it would give any free one."""


def fits(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> bool:
    """Whether this is the faster way for so many new rows."""
    return len(rows) >= ROWS_MIN and _first(db, table) < _ROW_MAX


def insert(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
    """Store rows whole under keys that nothing here has; inside a transaction with capture off."""
    first = _first(db, table)
    with _no_triggers(db):
        db.executemany(_insert(table), map(_parameters(table), rows))
    for statement in _afterwards(table):
        db.execute(statement, (first,))


def _first(db: apsw.Connection, table: Table) -> int:
    """The row number that the next new row gets."""
    return int(db.execute(f"SELECT coalesce(max(row), 0) + 1 FROM {table.name}").get)


@contextmanager
def _no_triggers(db: apsw.Connection) -> Iterator[None]:
    """For this connection alone; a process that dies leaves nothing of it behind."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)


def _parameters(table: Table) -> Any:
    """What makes the parameters of a row's insert; a memory has the hash of its text behind."""
    if table is not MEMORY:
        return row_parameters
    at = [MEMORY.names.index(name) for name in ("title", "aliases", "content")]

    def with_hash(row: Row) -> tuple[Any, ...]:
        title, aliases, content = (row.values[place] for place in at)
        hashed = None if content is None else text_hash(title, aliases, content)
        return (*row_parameters(row), hashed)

    return with_hash


@cache
def _insert(table: Table) -> str:
    names = row_columns(table) + (", text_hash" if table is MEMORY else "")
    return f"INSERT INTO {table.name}({names}) VALUES({', '.join('?' * len(names.split(',')))})"


@cache
def _afterwards(table: Table) -> tuple[str, ...]:
    """What the triggers would have done; `?1` is the first of the new rows."""
    statements = list(vector_triggers.afterwards(table.name))
    if table.name in TEXT_COLUMNS:
        listed = ", ".join(TEXT_COLUMNS[table.name])
        statements.append(
            f"INSERT INTO {table.name}_fts(rowid, {listed})"
            f" SELECT row, {listed} FROM {table.name} WHERE row >= ?1 ORDER BY row"
        )
    return tuple(statements)
