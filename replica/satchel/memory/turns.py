"""A chat turn and the visible turns next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.memory.limits import SNIPPET_CHARS
from satchel.memory.lookup import can_see, select
from satchel.memory.visibility import Caller
from satchel_sync.tables import Chatlog

if TYPE_CHECKING:
    from apsw import Connection


def neighbours(db: Connection, caller: Caller, turn: Chatlog) -> dict[str, Any]:
    """Where the turn stands: `{conversation_id, ordinal, role, before, after}`."""
    return {
        "conversation_id": turn.conversation_id,
        "ordinal": turn.ordinal,
        "role": turn.role,
        "before": _next(db, caller, turn, "<", "DESC"),
        "after": _next(db, caller, turn, ">", "ASC"),
    }


def _next(
    db: Connection, caller: Caller, turn: Chatlog, side: str, order: str
) -> dict[str, Any] | None:
    where = f"""t.conversation_id = :conversation AND (t.ordinal, t.id) {side} (:ordinal, :id)
                AND {can_see(caller, "chatlog")}"""
    params = {
        **caller.params,
        "conversation": turn.conversation_id,
        "ordinal": turn.ordinal,
        "id": turn.id,
    }
    tail = f"ORDER BY t.ordinal {order}, t.id {order} LIMIT 1"
    found = select(db, Chatlog, where, params, tail)
    if not found:
        return None
    one = found[0]
    content = one.content or ""
    return {
        "id": one.id,
        "ordinal": one.ordinal,
        "role": one.role,
        "content": content if len(content) <= SNIPPET_CHARS else content[:SNIPPET_CHARS] + "…",
    }
