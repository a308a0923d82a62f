"""A fact that changed: the old memory closes and the new one opens in one transaction; and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict, Refused
from satchel.memory import text
from satchel.memory.edges import SUPERSEDES, edge
from satchel.memory.guard import guarded
from satchel.memory.lookup import find_to_change, sees, select
from satchel.memory.moments import iso
from satchel.memory.storing import (
    EmbeddingOutcome,
    Written,
    embed_now,
    embedding_of,
    store_new,
    unchanged,
)
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.tables import MEMORY, RELATIONSHIP, Memory, Relationship

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.replica import Replica
    from satchel_sync.tables import Embedding

BY_SIMILARITY = "similarity"
"""The `by` in the metadata of an edge: nobody named what was superseded."""


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
    again answers with what the first call did. Raises Conflict when another one was faster or the
    request's text was another one, NotFound, Refused, InvalidInput.
    """
    given = {
        "content": text.content(content),
        "reason": text.optional_text(reason, "reason"),
        "title": text.optional_text(title, "title"),
        "source": text.optional_text(source, "source"),
    }
    said = guarded(replica.settings.memory_secrets, "memory.secrets", given)
    valid_from = text.time_ms(valid_from, "valid_from")
    request_id = text.optional_name(request_id, "request_id")
    with replica.store.read() as db:
        old = find_to_change(db, replica.caller, Memory, id)
    new = _drafted(replica, old, said.columns, request_id)
    made = embed_now(replica, new)
    with replica.store.write(replica.actor) as db:
        # Read again under the lock: whoever superseded it meanwhile was faster.
        old = find_to_change(db, replica.caller, Memory, old.id)
        done = rows.get(db, MEMORY, new.id)
        if done is not None:
            return _repeated(db, replica, done, new, old)
        _refuse_superseded(db, replica.caller, old)
        if old.content_hash == new.content_hash:
            return unchanged(db, replica, old, said.warnings)
        now = replica.now_ms()
        starts = now if valid_from is None else valid_from
        new = replace(new, recorded_at=now, valid_from=starts)
        reason = said.columns["reason"]
        embedding = take_place(db, replica, old, new, made, {"reason": reason} if reason else None)
    return replace(_written(new.id, old.id, embedding), warnings=said.warnings)


def _drafted(
    replica: Replica, old: Memory, said: Mapping[str, Any], request_id: str | None
) -> Memory:
    """What is to be stored but for its times: what was said, and what it inherits.

    How sure the old one was says nothing of the new one.
    """
    made_up = rows.new_id(replica.now_ms())
    return replace(
        old,
        id=derived_id("supersede", old.id, request_id) if request_id else made_up,
        content=said["content"],
        content_hash=text.content_hash(said["content"]),
        title=said["title"] or old.title,
        source=said["source"] or old.source,
        agent_id=_author(replica, old),
        metadata=None,
        confidence=None,
        valid_to=None,
        valid_to_was=None,
        retired_at=None,
        expires_at=None,
        supersedes=old.id,
    )


def take_place(
    db: Connection,
    replica: Replica,
    old: Memory,
    new: Memory,
    made: Sequence[Embedding] | None,
    note: dict[str, Any] | None,
) -> EmbeddingOutcome:
    """Inside the write: close the old one where the new one starts, store that, and link the two.

    The new one is recorded at the very moment at which the old one is retired. `note` becomes the
    metadata of the edge; its `reason` is told by the history of the old one.
    """
    now = replica.now_ms() if new.recorded_at is None else new.recorded_at
    close(db, old, now if new.valid_from is None else new.valid_from, now)
    embedding = store_new(db, replica, new, made)
    metadata = text.json_object(note) if note else None
    author = replica.caller.agent_id
    rows.insert(db, edge(new.id, old.id, SUPERSEDES, metadata=metadata, agent_id=author))
    return embedding


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
    """Undo a supersession: the old memory is as before.

    What was said in its place is retracted. What took its place by similarity was said for itself:
    it stays, beside the old one.
    """
    opened = replace(old, valid_to=old.valid_to_was, valid_to_was=None, retired_at=None)
    _undo(db, replica.caller, old.id, now_ms)
    rows.update(
        db,
        MEMORY,
        old.id,
        valid_to=opened.valid_to,
        valid_to_was=None,
        retired_at=None,
    )
    return opened


def _undo(db: Connection, caller: Caller, key: str, now_ms: int) -> None:
    """Let go, or retract, what superseded this one, directly or through others; a cycle ends it.

    Raises Refused where one of them is not the caller's to change.
    """
    rest, seen = [key], {key}
    while rest:
        key = rest.pop()
        by_likeness = _by_likeness(db, key)
        _unlink(db, key)
        for later in _successors(db, key):
            if not sees(db, caller, "memory", later.id, "write"):
                raise Refused(
                    f"memory {key} was superseded by one that this caller may not change",
                    hint="its owner, a supervisor or the operator can restore it",
                    field="id",
                )
            if later.id in by_likeness:
                rows.update(db, MEMORY, later.id, supersedes=None)
            elif later.id not in seen:
                seen.add(later.id)
                rest.append(later.id)
                _retract(db, later, now_ms)


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


def _successors(db: Connection, key: str) -> list[Memory]:
    """What superseded this one directly."""
    where = f"t.supersedes = :key AND {alive('t')}"
    return select(db, Memory, where, {"key": key}, "ORDER BY t.recorded_at, t.id")


def _by_likeness(db: Connection, key: str) -> set[str]:
    """Those that took its place because they were similar: what links them says so."""
    where = f"""t.to_id = :key AND t.type = :type AND json_valid(t.metadata)
        AND json_extract(t.metadata, '$.by') = :by AND {alive("t")}"""
    found = select(db, Relationship, where, {"key": key, "type": SUPERSEDES, "by": BY_SIMILARITY})
    return {one.from_id for one in found if one.from_id is not None}


def _author(replica: Replica, old: Memory) -> str | None:
    """An agent's own row stays its own, whoever corrects it; elsewhere the one who says it now."""
    if old.scope == "agent":
        return old.agent_id
    return replica.caller.agent_id or old.agent_id


def _refuse_superseded(db: Connection, caller: Caller, old: Memory) -> None:
    """Raise Conflict; what came after it is named to those who may see that."""
    if old.retired_at is None:
        return
    later = [one for one in _successors(db, old.id) if sees(db, caller, "memory", one.id)]
    by = f" by {later[0].id}" if later else ""
    raise Conflict(
        f"memory {old.id} was superseded{by} at {iso(old.retired_at)}",
        hint=f"supersede {later[0].id} instead" if later else "`memory restore` reopens it",
        field="id",
    )


def _repeated(db: Connection, replica: Replica, done: Memory, new: Memory, old: Memory) -> Written:
    """The answer of the first call. Raises Conflict where it brought another text."""
    if done.content_hash != new.content_hash:
        raise Conflict(
            f"this request was done with another text, as memory {done.id}",
            hint=f"give a new request another id, or supersede {done.id}",
            field="request_id",
        )
    return _written(done.id, old.id, embedding_of(db, replica, done.id))


def _written(new: str, old: str, embedding: EmbeddingOutcome) -> Written:
    return Written(
        id=new,
        outcome="superseded",
        superseded=[old],
        similar=[],
        embedding=embedding,
        warnings=[],
    )
