"""The rows that an export holds: those that the caller sees, of one snapshot, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from satchel.memory.lookup import can_see
from satchel.memory.visibility import Caller
from satchel.store.lenient import read_columns
from satchel.store.sql import HISTORY_KINDS, alive
from satchel_sync.tables import BY_NAME, EXTRA, Table

if TYPE_CHECKING:
    from apsw import Connection

AUDITED = frozenset({"memory", "task", "message", "chatlog", "session"})
"""Kinds whose rows the record of an export names; the others are parts of them, or names."""


@dataclass(frozen=True, slots=True)
class Found:
    """Key and values (data columns, then `extra`), whatever a hand may have put into them."""

    key: Any
    values: tuple[Any, ...]


def count(db: Connection, caller: Caller, table: Table) -> int:
    """How many rows the caller would be given."""
    sql = f"SELECT count(*) FROM {table.name} AS t WHERE {_where(caller, table)}"
    return int(db.execute(sql, caller.params).get)


def rows(db: Connection, caller: Caller, table: Table) -> Iterator[Found]:
    """Living rows, by key."""
    sql = f"""SELECT t.row FROM {table.name} AS t WHERE {_where(caller, table)}
              ORDER BY t.{table.key}"""
    columns = (table.key, *table.names, EXTRA)
    for (number,) in db.execute(sql, caller.params):
        key, *values = read_columns(db, table, columns, int(str(number)))
        yield Found(key, tuple(values))


def _where(caller: Caller, table: Table) -> str:
    """What was deleted stays out, and so does the history that could bring it back."""
    seen = can_see(caller, table.name)
    return f"{seen} AND {_living_subject()}" if table.name == "history" else seen


@cache
def _living_subject() -> str:
    cases = " ".join(
        f"WHEN '{kind}' THEN EXISTS (SELECT 1 FROM {kind} AS s"
        f" WHERE s.{BY_NAME[kind].key} = t.key AND {alive('s')})"
        for kind in sorted(HISTORY_KINDS)
    )
    return f"CASE t.kind {cases} ELSE 0 END"
