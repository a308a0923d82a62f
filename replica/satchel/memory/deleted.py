"""What is left of a deleted row: its old columns from history, under the same visibility."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satchel.errors import Refused
from satchel.memory.lookup import can_see, matches, only_one
from satchel.memory.visibility import Access, Caller
from satchel.store import outbox
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.stamp import CREATED, INT64_MAX, Stamp, lineage_of
from satchel_sync.tables import BY_NAME, EXTRA
from satchel_sync.unknown import of_names

if TYPE_CHECKING:
    from apsw import Connection


def find_deleted(
    db: Connection, caller: Caller, kind: str, given: object, access: Access = "read"
) -> tuple[str, dict[str, Any]]:
    """Key and old columns of the one deleted row that an id means and this caller saw.

    Raises NotFound, AmbiguousId, or Refused for a forgotten row (its history is gone).
    """
    # All that fit: whether a row was the caller's is known only from what it held.
    keys = matches(db, kind, given, f"NOT {alive('t')}", {}, -1)
    if len(keys) == 1 and _is_forgotten(db, kind, keys[0]) and caller.sees_all:
        raise Refused(
            f"{kind} {keys[0]} was forgotten: nothing of it is left", hint="forgetting is final"
        )
    held = {key: old for key in keys if (old := old_columns(db, kind, key)) is not None}
    seen = [key for key, old in held.items() if saw(db, caller, kind, key, old, access)]
    key = only_one(kind, given, seen)
    return key, held[key]


def require_last(db: Connection, kind: str, key: str) -> None:
    """Raise Refused where history has only older columns than the deleted row had.

    The deletion was another's (by hand at the hub, say) and its history never came here.
    """
    if not set(_deletions(db, kind, key)).intersection(_entries(db, kind, key)):
        raise Refused(
            f"{kind} {key} was deleted elsewhere, and what it last held is not known here",
            hint=f"`satchel {kind} history {key}` shows what is known; write it anew from that",
        )


def require_not_forgotten(db: Connection, kind: str, key: str) -> None:
    """Raise Refused where a row that is to be made (again) under this key was forgotten."""
    if _is_forgotten(db, kind, key):
        raise Refused(
            f"{kind} {key} was forgotten: nothing takes its place",
            hint="forgetting is final; what is still true can be written as a new row",
        )


def old_columns(db: Connection, kind: str, key: str) -> dict[str, Any] | None:
    """The columns of a row, and `extra`, as its last deletion left them in history, or None.

    The history row of that very deletion is told by its id, else the newest one is taken.
    """
    deletions = _deletions(db, kind, key)
    exact = [entry for entry in _entries(db, kind, key) if entry in deletions]
    entry = db.execute(
        "SELECT changes FROM history WHERE id = ?", (next(iter([*exact, *deletions]), None),)
    ).fetchone()
    if entry is None or not isinstance(entry[0], str):
        return None
    try:
        changes = json.loads(entry[0])
    except ValueError:
        return None
    pairs = changes.items() if isinstance(changes, dict) else ()
    old = {name: pair[0] for name, pair in pairs if isinstance(pair, list)}
    table = BY_NAME[kind]
    return dict(zip((*table.names, EXTRA), of_names(table, old), strict=True))


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


def _deletions(db: Connection, kind: str, key: str) -> list[str]:
    """Ids of the history rows of a row's deletions, the newest first by their own stamps."""
    found = db.execute(
        f"""SELECT t.id FROM history AS t
            WHERE t.kind = ? AND t.key = ? AND t.event = 'delete' AND {alive("t")}
            ORDER BY t.hlc DESC, t.id""",
        (kind, key),
    )
    return [str(entry) for (entry,) in found]


def _entries(db: Connection, kind: str, key: str) -> list[str]:
    """Ids that the history row of the present tombstone may have (`store/seal.py`).

    A tombstone that was stamped anew has the version that its history row names in its lineage.
    """
    held = outbox.row(db, BY_NAME[kind], key)
    if held is None:
        return []
    versions = [held.stamp, *map(Stamp.parse, lineage_of(held.lineage))]
    return [
        derived_id(kind, key, version.hex())
        for version in itertools.takewhile(lambda version: version.dead, versions)
    ]


def _is_forgotten(db: Connection, kind: str, key: str) -> bool:
    table = BY_NAME[kind]
    row = db.execute(f"SELECT life FROM {kind} WHERE {table.key} = ?", (key,)).fetchone()
    return row is not None and row[0] == INT64_MAX
