"""What is stored of a conversation, as the caller who captures sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.capture.plan import Held
from satchel.memory.lookup import can_see
from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.capture.clean import Said
    from satchel.replica import Replica

Texts = dict[tuple[str, int | None], set[bytes]]
"""(role, said at) -> texts in UTF-8."""


def texts(db: Connection, replica: Replica, conversation: str) -> Texts:
    """What its turns say."""
    sql = f"""SELECT t.role, t.said_at, CAST(t.content AS BLOB) FROM chatlog AS t
              WHERE t.conversation_id = :conversation AND {can_see(replica.caller, "chatlog")}"""
    found: Texts = {}
    for role, at, content in db.execute(
        sql, {**replica.caller.params, "conversation": conversation}
    ):
        found.setdefault((role, at), set()).add(content)
    return found


def held(db: Connection, replica: Replica, conversation: str) -> list[Held]:
    """Its turns without what they say."""
    caller = replica.caller
    sql = f"""SELECT t.id, t.ordinal, t.role, t.said_at, t.tokens_in, t.tokens_out, t.cost,
                     {can_see(caller, "chatlog", access="write")}
              FROM chatlog AS t WHERE t.conversation_id = :conversation
              AND typeof(t.ordinal) = 'integer' AND {can_see(caller, "chatlog")}"""
    params = {**caller.params, "conversation": conversation}
    return [Held(*values) for values in db.execute(sql, params)]


def same(db: Connection, kept: Held, one: Said) -> bool:
    """Whether a stored turn has the role and the text of this one."""
    sql = "SELECT role = ? AND content = ? FROM chatlog WHERE id = ?"
    return bool(db.execute(sql, (one.role, one.content, kept.id)).get)


def dead(db: Connection) -> frozenset[str]:
    """The ids of all dead turns, of whatever conversation: they no longer say of which."""
    sql = f"SELECT id FROM chatlog WHERE conversation_id IS NULL AND NOT {alive()}"
    return frozenset(str(key) for (key,) in db.execute(sql))


def is_living(db: Connection, key: str) -> bool | None:
    """None where there is no such row."""
    found = db.execute(f"SELECT {alive()} FROM chatlog WHERE id = ?", (key,)).get
    return None if found is None else bool(found)
