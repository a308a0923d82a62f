"""A fact that changed: the old memory closes and the new one opens in one transaction; and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict
from satchel.memory import text
from satchel.memory.edges import SUPERSEDES, edge
from satchel.memory.guard import guarded
from satchel.memory.lookup import find_to_change, select
from satchel.memory.moments import iso
from satchel.memory.write import Written, embed_now, store_new
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.tables import MEMORY, RELATIONSHIP, Memory, Relationship

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


def supersede(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    content: str,
    *,
    reason: str | None = None,
    title: str | None = None,
    valid_from: int | None = None,
    source: str | None = None,
    request_id: str | None = None,
) -> Written:
    """Say what is true now instead of memory `id`; the old one stays and answers for its time.

    The new memory inherits type, owner, title, importance, pin and aliases. The same `request_id`
    again answers with what the first call did. Raises Conflict when another one was faster,
    NotFound, Refused, InvalidInput.
    """
    given = {
        "content": text.content(content),
        "reason": text.optional_text(reason, "reason"),
        "title": text.optional_text(title, "title"),
        "source": text.optional_text(source, "source"),
    }
    said = guarded(replica.settings.memory_secrets, "memory.secrets", given)
    content, reason = said.columns["content"], said.columns["reason"]
    valid_from = text.time_ms(valid_from, "valid_from")
    request_id = text.optional_name(request_id, "request_id")
    now = replica.now_ms()
    with replica.store.read() as db:
        old = find_to_change(db, replica.caller, Memory, id)
    new = replace(
        old,
        id=derived_id("supersede", old.id, request_id) if request_id else rows.new_id(now),
        content=content,
        content_hash=text.content_hash(content),
        title=said.columns["title"] or old.title,
        source=said.columns["source"] or old.source,
        agent_id=_author(replica, old),
        metadata=None,
        valid_from=now if valid_from is None else valid_from,
        valid_to=None,
        valid_to_was=None,
        recorded_at=now,
        retired_at=None,
        expires_at=None,
        supersedes=old.id,
    )
    made = embed_now(replica, new)
    with replica.store.write(replica.actor) as db:
        # Read again under the lock: whoever superseded it meanwhile was faster.
        old = find_to_change(db, replica.caller, Memory, old.id)
        if rows.get(db, MEMORY, new.id) is not None:
            return _written(new.id, old.id, "done")
        _refuse_superseded(db, old)
        if old.content_hash == new.content_hash:
            return replace(_written(old.id, old.id, "done"), outcome="exists", superseded=[])
        close(db, old, new.valid_from or now, now)
        embedding = store_new(db, replica, new, made)
        note = text.json_object({"reason": reason}) if reason else None
        rows.insert(
            db, edge(new.id, old.id, SUPERSEDES, metadata=note, agent_id=replica.caller.agent_id)
        )
    return replace(_written(new.id, old.id, embedding), warnings=said.warnings)


def close(db: Connection, old: Memory, valid_from: int, now_ms: int) -> None:
    """End the old memory where the new one starts; an earlier end of its own stays."""
    starts = valid_from if old.valid_from is None else max(valid_from, old.valid_from)
    rows.update(
        db,
        MEMORY,
        old.id,
        valid_to=starts if old.valid_to is None else min(starts, old.valid_to),
        valid_to_was=old.valid_to,
        retired_at=now_ms,
    )


def reopen(db: Connection, replica: Replica, old: Memory, now_ms: int) -> Memory:
    """Undo a supersession: the old memory is as before, what came after it is retracted."""
    opened = replace(old, valid_to=old.valid_to_was, valid_to_was=None, retired_at=None)
    for later in _after(db, old.id):
        _unlink(db, later.supersedes or "")
        _retract(db, later, now_ms)
    _unlink(db, old.id)
    rows.update(
        db,
        MEMORY,
        old.id,
        valid_to=opened.valid_to,
        valid_to_was=None,
        retired_at=None,
    )
    return opened


def is_superseded(memory: Memory) -> bool:
    """Whether another memory took its place (or it was retracted)."""
    return memory.retired_at is not None


def _retract(db: Connection, memory: Memory, now_ms: int) -> None:
    """It was never so: an empty interval, under which no later question finds it."""
    closed: dict[str, Any] = {"valid_to": memory.valid_from, "supersedes": None}
    if memory.retired_at is None:
        closed |= {"valid_to_was": memory.valid_to, "retired_at": now_ms}
    rows.update(db, MEMORY, memory.id, **closed)


def _unlink(db: Connection, key: str) -> None:
    """Cut what says that the memory was superseded, also by one that was deleted meanwhile."""
    where = f"t.to_id = :key AND t.type = :type AND {alive('t')}"
    for one in select(db, Relationship, where, {"key": key, "type": SUPERSEDES}):
        rows.delete(db, RELATIONSHIP, one.id)


def _after(db: Connection, key: str) -> list[Memory]:
    """Every memory that superseded this one, directly or through others; a cycle ends the walk."""
    where = f"""t.id IN (
        WITH RECURSIVE later(id) AS (
            SELECT m.id FROM memory AS m WHERE m.supersedes = :key AND {alive("m")}
            UNION
            SELECT m.id FROM memory AS m JOIN later ON m.supersedes = later.id AND {alive("m")})
        SELECT id FROM later) AND t.id <> :key"""
    return select(db, Memory, where, {"key": key}, "ORDER BY t.recorded_at, t.id")


def _author(replica: Replica, old: Memory) -> str | None:
    """An agent's own row stays its own, whoever corrects it; elsewhere the one who says it now."""
    if old.scope == "agent":
        return old.agent_id
    return replica.caller.agent_id or old.agent_id


def _refuse_superseded(db: Connection, old: Memory) -> None:
    if old.retired_at is None:
        return
    later = select(
        db,
        Memory,
        f"t.supersedes = :key AND {alive('t')}",
        {"key": old.id},
        "ORDER BY t.id LIMIT 1",
    )
    by = f" by {later[0].id}" if later else ""
    raise Conflict(
        f"memory {old.id} was superseded{by} at {iso(old.retired_at)}",
        hint=f"supersede {later[0].id} instead" if later else "`memory restore` reopens it",
        field="id",
    )


def _written(new: str, old: str, embedding: Any) -> Written:
    return Written(
        id=new,
        outcome="superseded",
        superseded=[old],
        similar=[],
        embedding=embedding,
        warnings=[],
    )
