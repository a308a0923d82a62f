"""Changing one memory: update, pin, alias, delete, restore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, InvalidInput, NotFound
from satchel.memory import text, view
from satchel.memory.deleted import find_deleted, require_last
from satchel.memory.guard import guarded
from satchel.memory.lookup import build, find, find_to_change, require_change
from satchel.memory.supersede import is_superseded, reopen, supersede
from satchel.memory.write import leave_queued
from satchel.store import rows
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

__all__ = ["alias", "delete", "pin", "restore", "supersede", "update"]

CLEARABLE = (
    "title",
    "metadata",
    "importance",
    "confidence",
    "source",
    "valid_to",
    "expires_at",
    "aliases",
)
EMBEDDED = ("title", "content", "aliases")
"""Columns whose change makes the vector stale."""


def update(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    text: str | None = None,
    title: str | None = None,
    type: str | None = None,  # noqa: A002
    importance: float | None = None,
    confidence: float | None = None,
    valid_from: int | None = None,
    valid_to: int | None = None,
    expires_at: int | None = None,
    source: str | None = None,
    metadata: Mapping[str, Any] | str | None = None,
    clear: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Correct a memory in place: same id, what is not given stays, the old text goes to history.

    `clear` names columns to empty. Answers with the row, and with `warnings` where there are any.
    Raises InvalidInput, NotFound, Refused.
    """
    given = _checked(
        text=text,
        title=title,
        type=type,
        importance=importance,
        confidence=confidence,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        source=source,
        metadata=metadata,
    )
    said = guarded(replica.settings.memory_secrets, "memory.secrets", given)
    changes = _with_hash(said.columns)
    for name in clear or ():
        changes[_clearable(name)] = None
    if not changes:
        raise InvalidInput("nothing to update was given", hint="give `--text`, `--title`, …")
    changed = _apply(replica, id, changes)
    return {**changed, "warnings": said.warnings} if said.warnings else changed


def pin(replica: Replica, id: str, on: bool = True) -> dict[str, Any]:  # noqa: A002
    """Keep a memory from being superseded by similarity, or let it go. Answers with the row."""
    return _apply(replica, id, {"pinned": text.flag(on, "pinned")})


def alias(replica: Replica, id: str, names: Sequence[str]) -> dict[str, Any]:  # noqa: A002
    """Set the other names that search finds the memory by. Answers with the row."""
    given = {"aliases": text.json_list(text.names(names, "names"))}
    said = guarded(replica.settings.memory_secrets, "memory.secrets", given)
    return _apply(replica, id, said.columns)


def delete(replica: Replica, id: str, confirm: bool = False) -> dict[str, Any]:  # noqa: A002
    """Empty a memory into a tombstone and delete its vectors; history keeps the old row.

    Raises ConfirmationNeeded without `confirm`, NotFound, Refused.
    """
    if confirm is not True:
        raise ConfirmationNeeded(
            "deleting a memory needs `confirm`", hint="give `--yes` or `confirm: true`"
        )
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Memory, id)
        rows.delete(db, MEMORY, held.id)
        db.execute("DELETE FROM embedding WHERE memory_id = ?", (held.id,))
        db.execute("DELETE FROM embed_queue WHERE memory_id = ?", (held.id,))
    return {"id": held.id, "outcome": "deleted"}


def restore(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Bring back a deleted memory, or reopen a superseded one and undo that. Answers with the row.

    Raises NotFound, AmbiguousId, Refused (forgotten, or not the caller's to change).
    """
    now = replica.now_ms()
    with replica.store.write(replica.actor) as db:
        try:
            held = find(db, replica.caller, Memory, id)
        except NotFound:
            held = _undelete(db, replica, id)
        else:
            if is_superseded(held):
                require_change(db, replica.caller, "memory", held.id)
                held = reopen(db, replica, held, now)
    return view.memory(held, now)


def _undelete(db: Connection, replica: Replica, given: str) -> Memory:
    key, old = find_deleted(db, replica.caller, "memory", given, "write")
    require_last(db, "memory", key)
    old["local"] = rows.get(db, MEMORY, key, dead=True).local  # a tombstone keeps it
    held = build(Memory, (key, *(old.get(name) for name in MEMORY.names)))
    if held.supersedes is not None and not _made_way(db, held.supersedes):
        held = replace(held, supersedes=None)
    values = (getattr(held, name) for name in MEMORY.names)
    rows.put_back(db, MEMORY, key, (*values, old["extra"]))
    leave_queued(db, replica, key)
    return held


def _made_way(db: Connection, key: str) -> bool:
    """Whether the memory is still superseded: that may have been undone while another was gone."""
    other = rows.get(db, MEMORY, key)
    return other is None or is_superseded(other)


def _apply(replica: Replica, given: str, changes: dict[str, Any]) -> dict[str, Any]:
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Memory, given)
        merged = replace(held, **changes)
        _refuse_backwards(merged, changes)
        rows.update(db, MEMORY, held.id, **changes)
        stale = any(getattr(held, name) != getattr(merged, name) for name in EMBEDDED)
        if stale:
            leave_queued(db, replica, held.id)
    if stale and replica.embedding_state == "warm":
        from satchel.embedding.queue import drain

        drain(replica, only=[held.id], quick=True)
    return view.memory(merged, replica.now_ms())


def _refuse_backwards(merged: Memory, changes: Mapping[str, Any]) -> None:
    """Raise InvalidInput when a given time makes the memory end before it begins."""
    given = [name for name in ("valid_to", "valid_from") if changes.get(name) is not None]
    if not given or merged.valid_from is None or merged.valid_to is None:
        return
    if merged.valid_from > merged.valid_to:
        raise InvalidInput("`valid_to` lies before `valid_from`", field=given[0])


def _checked(**given: Any) -> dict[str, Any]:
    """Columns to set, from the arguments that were given."""
    checks: dict[str, Any] = {
        "title": text.optional_text,
        "type": text.name,
        "importance": text.share,
        "confidence": text.share,
        "valid_from": text.time_ms,
        "valid_to": text.time_ms,
        "expires_at": text.time_ms,
        "source": text.optional_text,
        "metadata": text.json_object,
    }
    found = {
        name: check(given[name], name) for name, check in checks.items() if given[name] is not None
    }
    if given["text"] is not None:
        found["content"] = text.content(given["text"])
    return found


def _with_hash(changes: dict[str, Any]) -> dict[str, Any]:
    if "content" not in changes:
        return changes
    return {**changes, "content_hash": text.content_hash(changes["content"])}


def _clearable(name: str) -> str:
    return text.one_of(name, CLEARABLE, "clear")
