"""The id of a turn: the same on every machine that keeps it, and no word about turns of others.

It follows from conversation, ordinal, role, text and from whom the turn is for. Without the last,
whoever writes a guess at a hidden turn would learn from the id whether it is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from satchel.memory.lookup import can_see
from satchel_sync.digest import derived_id

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.ownership import Owner
    from satchel.memory.visibility import Caller


class Place(NamedTuple):
    """What was said where."""

    conversation: str
    ordinal: int
    role: str
    content: str


def new(owner: Owner, place: Place) -> str:
    """The id of a turn that this owner keeps there."""
    return derived_id(*place, owner.scope, _whose(owner, place.conversation))


def seen(db: Connection, caller: Caller, place: Place) -> str | None:
    """The id of a turn that says this there and that the caller sees."""
    sql = f"""SELECT t.id FROM chatlog AS t WHERE t.conversation_id = :conversation
              AND t.ordinal = :ordinal AND t.role = :role AND t.content = :content
              AND {can_see(caller, "chatlog")} ORDER BY t.id LIMIT 1"""
    found = db.execute(sql, {**caller.params, **place._asdict()}).get
    return None if found is None else str(found)


def _whose(owner: Owner, conversation: str) -> str:
    """The one name that the scope asks for: two callers who keep a turn for it make one row."""
    names = {
        "agent": owner.agent_id,
        "user": owner.user_id,
        "space": owner.space,
        "session": owner.session_id or conversation,
    }
    return names.get(owner.scope) or ""
