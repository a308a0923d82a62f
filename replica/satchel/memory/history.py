"""What changed in a row, when and by whom: its history rows and the moment of its creation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput, NotFound
from satchel.memory import audit
from satchel.memory.deleted import find_deleted
from satchel.memory.edges import SUPERSEDES
from satchel.memory.limits import HISTORY_ROWS_MAX
from satchel.memory.lookup import can_see, find, sees, select
from satchel.memory.visibility import Caller
from satchel.memory.word_diff import word_diff
from satchel.store.sql import alive
from satchel_sync.tables import BY_NAME, History, Relationship

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

WORDED = ("content", "title", "description", "result")
"""Columns whose changes are shown word by word too."""


def history(replica: Replica, id: str, *, kind: str = "memory") -> dict[str, Any]:  # noqa: A002
    """Changes of a row, the newest first: `{id, kind, items: [{event, at, actor, changes}]}`.

    `changes` is {field: [old, new]}, `diff` the same of changed texts word by word; the last item
    is `created`. Beside update, delete and restore, a memory has `supersede` (with the `reason`
    that was given with what came after, if that still stands), `reopen` when that was undone, and
    `retract` on what came after. Who saw a deleted row sees its history.

    Raises NotFound, AmbiguousId, InvalidInput, Refused (forgotten).
    """
    if kind not in CREATED_AT:
        raise InvalidInput(
            f"no history is kept of {kind!r}", hint=f"one of: {', '.join(CREATED_AT)}", field="kind"
        )
    replica.store.seal()  # a change by hand is no history row yet
    with replica.store.read() as db:
        key, row, seen = _subject(db, replica, kind, id)
        where = f"t.kind = :kind AND t.key = :key AND {alive('t')} AND :seen"
        found = select(
            db,
            History,
            where,
            {"kind": kind, "key": key, "seen": seen},
            f"ORDER BY t.at DESC, t.hlc DESC, t.id LIMIT {HISTORY_ROWS_MAX}",
        )
        reason = _reason(db, replica.caller, key) if kind == "memory" else None
    audit.record(replica, "history", [(kind, key)])
    items = [_item(kind, one) for one in found]
    last = next((one for one in items if one["event"] == "supersede"), None)
    if last is not None and reason is not None:
        last["reason"] = reason
    return {"id": key, "kind": kind, "items": [*items, _created(kind, row)]}


def _subject(
    db: Connection, replica: Replica, kind: str, given: str
) -> tuple[str, dict[str, Any], bool]:
    """The row that the history is about, alive or as its deletion left it, and whether its past
    is for the caller too: who was only handed the row is shown no more than the row."""
    table = BY_NAME[kind]
    row: Any
    try:
        row = find(db, replica.caller, table.row, given)
    except NotFound:
        return *find_deleted(db, replica.caller, kind, given, "past"), True
    key = getattr(row, table.key)
    columns = {name: getattr(row, name) for name in table.names}
    return key, columns, sees(db, replica.caller, kind, key, "past")


def _item(kind: str, entry: History) -> dict[str, Any]:
    # The ends of an edge stand in each entry, changed or not.
    changes = {name: pair for name, pair in _object(entry.changes).items() if _differs(pair)}
    event = _change_of_memory(changes) if kind == "memory" else None
    item = {"event": event or entry.event, "at": entry.at, "actor": entry.actor, "changes": changes}
    worded = {name: words for name in WORDED if (words := _worded(changes.get(name)))}
    return {**item, "diff": worded} if worded else item


def _differs(pair: Any) -> bool:
    return not (isinstance(pair, list) and len(pair) == 2 and pair[0] == pair[1])


def _change_of_memory(changes: dict[str, Any]) -> str | None:
    """What became of a memory: it made way for another, that was undone, or it was undone itself.

    One that is retracted forgets what it replaced.
    """
    forgets = changes.get("supersedes", (None, None))[0] is not None
    match changes.get("retired_at"):
        case [None, int()]:
            return "retract" if forgets else "supersede"
        case [int(), None]:
            return "reopen"
    return "retract" if forgets and "valid_to" in changes else None


def _worded(pair: Any) -> str | None:
    """The words that went and came, where a text was changed into another."""
    match pair:
        case [str(old), str(new)]:
            return word_diff(old, new)
    return None


def _created(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    column = CREATED_AT[kind]
    return {
        "event": "created",
        "at": row.get(column) if column else None,
        "actor": row.get("created_by") or row.get("agent_id") or row.get("user_id"),
        "changes": {},
    }


def _reason(db: Connection, caller: Caller, key: str) -> str | None:
    """Why the memory was superseded, as the edge says to which the caller sees both ends."""
    where = f"t.to_id = :key AND t.type = :type AND {can_see(caller, 'relationship')}"
    params = {**caller.params, "key": key, "type": SUPERSEDES}
    found = select(db, Relationship, where, params, "ORDER BY t.hlc DESC LIMIT 1")
    reason = _object(found[0].metadata).get("reason") if found else None
    return reason if isinstance(reason, str) else None


def _object(stored: str | None) -> dict[str, Any]:
    """The stored object; what somebody else wrote there and is none counts as empty."""
    try:
        found = json.loads(stored or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
