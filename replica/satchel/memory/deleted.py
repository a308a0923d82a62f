"""What is left of a deleted row: its old columns from history, under the same visibility."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satchel.errors import Refused
from satchel.memory.lookup import can_see, matches, only_one
from satchel.memory.visibility import Access, Caller, alive
from satchel_sync.stamp import CREATED, INT64_MAX
from satchel_sync.tables import BY_NAME

if TYPE_CHECKING:
    from apsw import Connection


def find_deleted(
    db: Connection, caller: Caller, kind: str, given: object, access: Access = "read"
) -> tuple[str, dict[str, Any]]:
    """Key and old columns of the one deleted row that an id means and this caller saw.

    Raises NotFound, AmbiguousId, or Refused for a forgotten row (its history is gone).
    """
    keys = matches(db, kind, given, f"NOT {alive('t')}", {})
    if len(keys) == 1 and _is_forgotten(db, kind, keys[0]) and caller.sees_all:
        raise Refused(
            f"{kind} {keys[0]} was forgotten: nothing of it is left", hint="forgetting is final"
        )
    held = {key: old for key in keys if (old := old_columns(db, kind, key)) is not None}
    seen = [key for key, old in held.items() if saw(db, caller, kind, key, old, access)]
    key = only_one(kind, given, seen)
    return key, held[key]


def old_columns(db: Connection, kind: str, key: str) -> dict[str, Any] | None:
    """The columns of a row as its last deletion left them in history, or None."""
    entry = db.execute(
        f"""SELECT t.changes FROM history AS t
            WHERE t.kind = ? AND t.key = ? AND t.event = 'delete' AND {alive("t")}
            ORDER BY t.at DESC, t.hlc DESC LIMIT 1""",
        (kind, key),
    ).fetchone()
    if entry is None or not isinstance(entry[0], str):
        return None
    try:
        changes = json.loads(entry[0])
    except ValueError:
        return None
    names = set(BY_NAME[kind].names)
    pairs = changes.items() if isinstance(changes, dict) else ()
    return {name: pair[0] for name, pair in pairs if name in names and isinstance(pair, list)}


def saw(
    db: Connection,
    caller: Caller,
    kind: str,
    key: str,
    old: Mapping[str, Any],
    access: Access = "read",
) -> bool:
    """Whether the predicate of the kind holds for the columns that the row had."""
    table = BY_NAME[kind]
    selected = ", ".join(f":old_{name} AS {name}" for name in table.names)
    sql = f"""SELECT 1 FROM (SELECT :key AS {table.key}, {CREATED} AS life, {selected}) AS t
              WHERE {can_see(caller, kind, access=access)}"""
    params = {f"old_{name}": old.get(name) for name in table.names}
    return db.execute(sql, {**caller.params, **params, "key": key}).fetchone() is not None


def _is_forgotten(db: Connection, kind: str, key: str) -> bool:
    table = BY_NAME[kind]
    row = db.execute(f"SELECT life FROM {kind} WHERE {table.key} = ?", (key,)).fetchone()
    return row is not None and row[0] == INT64_MAX
