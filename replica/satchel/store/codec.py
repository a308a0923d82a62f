"""Rows between SQLite and the frozen values that travel; the statements that move them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import apsw

from satchel.store.sql import row_columns
from satchel_sync.row import Row
from satchel_sync.stamp import Stamp
from satchel_sync.tables import EXTRA, Table, Value
from satchel_sync.unknown import folded


def row_of(found: Sequence[Any]) -> Row:
    """A `Row` from `row_columns`; an unsealed one must not get here."""
    key, life, hlc, origin, digest, lineage = found[:6]
    return Row(key, Stamp(life, hlc, origin, digest), lineage or "", tuple(found[6:]))


def row_parameters(row: Row) -> tuple[Any, ...]:
    """A row as `row_columns` orders it."""
    return (row.key, *row.stamp, row.lineage, *row.values)


def upsert(db: apsw.Connection, table: Table, rows: Iterable[Row]) -> None:
    """Store rows whole, version and all, over whatever is there.

    One statement for all of them: each statement that fires triggers makes FTS5 flush what it has
    gathered, which is seven times slower row by row.
    """
    create, stage, store, clear = _upsert(table)
    db.execute(create)
    db.executemany(stage, (row_parameters(row) for row in rows))
    db.execute(store)
    db.execute(clear)


@cache
def _upsert(table: Table) -> tuple[str, str, str, str]:
    columns = row_columns(table)
    names = columns.split(", ")
    staged = f"temp.{table.name}_page"
    settings = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    return (
        f"CREATE TEMP TABLE IF NOT EXISTS {table.name}_page({columns})",
        f"INSERT INTO {staged} VALUES({', '.join('?' * len(names))})",
        (
            f"INSERT INTO main.{table.name}({columns}) SELECT {columns} FROM {staged} WHERE true"
            f" ON CONFLICT({table.key}) DO UPDATE SET {settings}"
        ),
        f"DELETE FROM {staged}",
    )


def pack_values(table: Table, values: Sequence[Value]) -> str:
    """A row's values as JSON text {column: value}, every one exactly; bytes as {"blob": hex}."""
    packed = {
        name: {"blob": value.hex()} if isinstance(value, bytes) else value
        for name, value in zip((*table.names, EXTRA), values, strict=True)
        if value is not None
    }
    return json.dumps(packed, ensure_ascii=False, separators=(",", ":"))


def unpack_values(table: Table, text: str) -> tuple[Value, ...]:
    """Inverse of `pack_values`, also of what a program with fewer columns packed."""
    found = json.loads(text)
    values = (found.get(name) for name in (*table.names, EXTRA))
    return folded(
        table,
        [bytes.fromhex(value["blob"]) if isinstance(value, dict) else value for value in values],
    )
