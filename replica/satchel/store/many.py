"""Adding many new rows at once: stamped, indexed, queued and sealed as single ones are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import apsw

from satchel.errors import InvalidInput
from satchel.store.sql import alive
from satchel_sync.tables import EXTRA, Table, Value

Whole = tuple[str, tuple[Value, ...]]
"""Key, and values in the order of a `Row`: the data columns, then `extra`."""


def insert(db: apsw.Connection, table: Table, rows: Iterable[Whole]) -> None:
    """Add rows under keys that nothing here has had, dead or alive; inside a write transaction.

    One statement for all of them: row by row FTS5 flushes after each (see `codec.upsert`). Raises
    InvalidInput for what a trigger refuses; the transaction is to be given up then.
    """
    create, stage, store, clear = _insert(table)
    try:
        db.execute(create)
        db.executemany(stage, ((key, *values) for key, values in rows))
        db.execute(store)
        db.execute(clear)
    except apsw.ConstraintError as error:
        raise InvalidInput(str(error).removeprefix("ConstraintError: ")) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise InvalidInput(f"a value cannot be stored: {error}") from error


def held(
    db: apsw.Connection, table: Table, keys: Sequence[str]
) -> Mapping[str, tuple[Value, ...] | None]:
    """Key -> the values of those that are here, in the order of a `Row`; None for a dead row."""
    columns = ", ".join(f"t.{name}" for name in (*table.names, EXTRA))
    found: Any = db.execute(
        f"SELECT t.{table.key}, {alive('t')}, {columns} FROM json_each(?) AS wanted"
        f" CROSS JOIN {table.name} AS t ON t.{table.key} = wanted.value",
        (json.dumps(list(keys)),),
    )
    return {key: tuple(values) if living else None for key, living, *values in found}


@cache
def _insert(table: Table) -> tuple[str, str, str, str]:
    names = (table.key, *table.names, EXTRA)
    listed, staged = ", ".join(names), f"temp.{table.name}_new"
    return (
        f"CREATE TEMP TABLE IF NOT EXISTS {table.name}_new({listed})",
        f"INSERT INTO {staged} VALUES({', '.join('?' * len(names))})",
        f"INSERT INTO main.{table.name}({listed}) SELECT {listed} FROM {staged} WHERE true",
        f"DELETE FROM {staged}",
    )
