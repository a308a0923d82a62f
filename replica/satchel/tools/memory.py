"""Tools on memories: write, get, list, correct, supersede, delete, restore, history, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.memory import change, forget, history, read, supersede, write
from satchel.memory.write import Written
from satchel.tools.kinds import Count, Id, Json, Share, Text, Time
from satchel.tools.tool import Answer, tool

if TYPE_CHECKING:
    from satchel.replica import Replica


def _missing_is_3(answer: Answer) -> int:
    return 3 if answer.get("missing") else 0


@tool(positional=("text",))
def memory_write(
    replica: Replica,
    text: Text,
    title: str | None = None,
    type: str | None = None,  # noqa: A002 (the column's name)
    scope: str | None = None,
    space: str | None = None,
    session: Id | None = None,
    importance: Share | None = None,
    confidence: Share | None = None,
    pin: bool = False,
    valid_from: Time | None = None,
    expires: Time | None = None,
    source: str | None = None,
    metadata: Json | None = None,
    local: bool = False,
) -> Written:
    """Remember a fact, decision, preference or note. Durable when it answers.

    text: What to remember
    title: A few words that name it
    type: fact, decision, preference, task, procedure, note, ...
    scope: agent, session, space, user or org
    space: A shared pool
    session: A session id
    importance: 0..1
    confidence: 0..1
    pin: Keep from supersession
    valid_from: When it became true
    expires: When to stop showing it
    source: Where it comes from
    metadata: Anything else
    local: Never leaves this machine
    """
    return write.write(
        replica,
        text,
        title=title,
        type=type,
        scope=scope,
        space=space,
        session=session,
        importance=importance,
        confidence=confidence,
        pinned=pin,
        valid_from=valid_from,
        expires_at=expires,
        source=source,
        metadata=metadata,
        local=local,
    )


@tool(positional=("ids",), writes=False, exit_code=_missing_is_3)
def memory_get(replica: Replica, ids: list[Id]) -> dict[str, Any]:
    """Read memories in full, by id.

    ids: Full ids, or unique prefixes or suffixes of 8 or more
    """
    return read.get(replica, ids)


@tool(writes=False, synonyms={"space": "spaces"})
def memory_list(
    replica: Replica,
    type: str | None = None,  # noqa: A002
    scope: str | None = None,
    spaces: list[str] | None = None,
    agents: list[str] | None = None,
    session: Id | None = None,
    as_of: Time | None = None,
    known_at: Time | None = None,
    since: Time | None = None,
    until: Time | None = None,
    superseded: bool = False,
    limit: Count = 50,
    after: str | None = None,
) -> dict[str, Any]:
    """List memories, the newest first.

    type: Only of this type
    scope: Only agent, session, space, user or org
    spaces: Only of these spaces
    agents: Only rows of these agents
    session: Only of this session
    as_of: What was true then, default now
    known_at: What was believed then, default now
    since: Recorded from then on
    until: Recorded before
    superseded: Those that ended too
    limit: How many at most
    after: Go on behind the `next` of the answer before
    """
    return read.list_memories(
        replica,
        type=type,
        scope=scope,
        spaces=spaces,
        agents=agents,
        session=session,
        as_of=as_of,
        known_at=known_at,
        since=since,
        until=until,
        superseded=superseded,
        limit=limit,
        after=after,
    )


@tool(positional=("id",))
def memory_update(
    replica: Replica,
    id: Id,  # noqa: A002
    text: Text | None = None,
    title: str | None = None,
    type: str | None = None,  # noqa: A002
    importance: Share | None = None,
    confidence: Share | None = None,
    valid_from: Time | None = None,
    valid_to: Time | None = None,
    expires: Time | None = None,
    source: str | None = None,
    metadata: Json | None = None,
    clear: list[str] | None = None,
) -> dict[str, Any]:
    """Correct a memory in place; what is not given stays. A fact that changed: supersede it.

    id: The memory
    text: The corrected text
    title: A few words that name it
    type: fact, decision, ...
    importance: 0..1
    confidence: 0..1
    valid_from: When it became true
    valid_to: When it ceased to be true
    expires: When to stop showing it
    source: Where it comes from
    metadata: Replaces the old one
    clear: Columns to empty
    """
    return change.update(
        replica,
        id,
        text=text,
        title=title,
        type=type,
        importance=importance,
        confidence=confidence,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires,
        source=source,
        metadata=metadata,
        clear=clear,
    )


@tool(positional=("id", "text"))
def memory_supersede(
    replica: Replica,
    id: Id,  # noqa: A002
    text: Text,
    reason: str | None = None,
    title: str | None = None,
    valid_from: Time | None = None,
    source: str | None = None,
    request_id: str | None = None,
) -> Written:
    """Replace a fact that changed. The old one stays and answers for its time.

    id: The memory that is no longer true
    text: What is true now
    reason: Why it changed
    title: Default: the old one
    valid_from: When it became true
    source: Where it comes from
    request_id: The same again changes nothing
    """
    return supersede.supersede(
        replica,
        id,
        text,
        reason=reason,
        title=title,
        valid_from=valid_from,
        source=source,
        request_id=request_id,
    )


@tool(positional=("id",), destructive=True)
def memory_delete(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Delete a memory: its content is emptied here and, after a sync, everywhere.

    id: The memory
    """
    return change.delete(replica, id, confirm=True)


@tool(positional=("ids",), destructive=True, outside=True)
def memory_forget(replica: Replica, ids: list[str], linked: bool = False) -> dict[str, Any]:
    """Forget memories for good: text, history and vectors, here and after a sync everywhere.

    ids: The memories
    linked: Also what repeats their text or names them as result or context
    """
    return forget.forget(replica, ids, linked=linked, confirm=True)


@tool(positional=("id",))
def memory_restore(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Bring a deleted memory back, or reopen a superseded one.

    id: The memory
    """
    return change.restore(replica, id)


@tool(positional=("id",))
def memory_pin(replica: Replica, id: Id, off: bool = False) -> dict[str, Any]:  # noqa: A002
    """Keep a memory from being superseded by similarity.

    id: The memory
    off: Take the pin away
    """
    return change.pin(replica, id, not off)


@tool(positional=("id", "names"))
def memory_alias(replica: Replica, id: Id, names: list[str]) -> dict[str, Any]:  # noqa: A002
    """Give a memory other names that search finds it by; replaces the old ones.

    id: The memory
    names: The names
    """
    return change.alias(replica, id, names)


@tool(positional=("id",), writes=False)
def memory_history(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """What changed in a memory, when and by whom.

    id: The memory
    """
    return history.history(replica, id)


@tool(writes=False)
def memory_stats(replica: Replica) -> dict[str, Any]:
    """How much the caller can see: memories by type, scope, space and agent, turns, edges."""
    return read.stats(replica)
