"""What changed in a row, when and by whom: its history rows and the moment of its creation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput, NotFound
from satchel.memory.deleted import find_deleted
from satchel.memory.limits import HISTORY_ROWS_MAX
from satchel.memory.lookup import TABLE_OF, find, select
from satchel.memory.visibility import alive
from satchel_sync.tables import BY_NAME, History

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

CREATED_AT = {
    "memory": "recorded_at",
    "task": "created_at",
    "chatlog": "said_at",
    "session": "opened_at",
    "space": "created_at",
    "relationship": None,
}
"""Kind -> the column that says when a row was created."""


def history(replica: Replica, id: str, *, kind: str = "memory") -> dict[str, Any]:  # noqa: A002
    """Changes of a row, the newest first: `{id, kind, items: [{event, at, actor, changes}]}`.

    `changes` is {field: [old, new]}; the last item is `created`. Who saw a deleted row sees its
    history. Raises NotFound, AmbiguousId, InvalidInput, Refused (forgotten).
    """
    if kind not in CREATED_AT:
        raise InvalidInput(
            f"no history is kept of {kind!r}", hint=f"one of: {', '.join(CREATED_AT)}", field="kind"
        )
    with replica.store.read() as db:
        key, row = _subject(db, replica, kind, id)
        where = f"t.kind = :kind AND t.key = :key AND {alive('t')}"
        found = select(
            db,
            History,
            where,
            {"kind": kind, "key": key},
            f"ORDER BY t.at DESC, t.hlc DESC, t.id LIMIT {HISTORY_ROWS_MAX}",
        )
    items = [
        {"event": one.event, "at": one.at, "actor": one.actor, "changes": _changes(one.changes)}
        for one in found
    ]
    return {"id": key, "kind": kind, "items": [*items, _created(kind, row)]}


def _subject(db: Connection, replica: Replica, kind: str, given: str) -> tuple[str, dict[str, Any]]:
    """The row that the history is about: alive, or as its deletion left it."""
    table = BY_NAME[kind]
    row_type: type[Any] = next(row for row, one in TABLE_OF.items() if one is table)
    try:
        row = find(db, replica.caller, row_type, given)
    except NotFound:
        return find_deleted(db, replica.caller, kind, given)
    return getattr(row, table.key), {name: getattr(row, name) for name in table.names}


def _created(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    column = CREATED_AT[kind]
    return {
        "event": "created",
        "at": row.get(column) if column else None,
        "actor": row.get("created_by") or row.get("agent_id") or row.get("user_id"),
        "changes": {},
    }


def _changes(stored: str | None) -> dict[str, Any]:
    """The stored object; what somebody else wrote there and is none counts as empty."""
    try:
        found = json.loads(stored or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
