"""What a transcript repeats of another conversation: forks, and files under another session's id.

The copies are not kept again: they would double text and cost, and bring back what was forgotten in
the conversation that they come from. What was forgotten is told by its id, which follows from text
and place, so it can be known while something is left of that conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.capture import stored
from satchel.capture.clean import said_at
from satchel.capture.dead import Dead
from satchel.capture.plan import GAP_MAX, Held, Plan, plan
from satchel.memory import turn_ids
from satchel.memory.lookup import can_see
from satchel.memory.turn_ids import Place

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.capture.clean import Said
    from satchel.memory.ownership import Owner
    from satchel.replica import Replica
    from satchel.transcripts.turn import Turn

OWNED = " AND ".join(f"t.{name} IS :{name}" for name in ("scope", "space"))
COPIES_MIN = 2
"""Turns that make a copy. One may be chance: two sessions that began alike in the same moment."""

ORIGINS_MAX = 8
"""Conversations that one may have turns of."""

Own = tuple[Sequence["Said"], int]
"""The turns that are not copies, and how many of the copies were forgotten or deleted."""


def copied_from(
    db: Connection, replica: Replica, owner: Owner, conversation: str, turns: Sequence[Turn]
) -> list[str]:
    """Conversations of this owner in which the same ones said something at the same times.

    The one with most of it first.

    Reads all turns: called only where nothing is stored of how the conversation begins. Sub-agents
    may well be told the same at once, so their conversations are none's copies.
    """
    if turns[0].metadata.get("parent"):
        return []
    times = sorted({(at, one.role) for one in turns if (at := said_at(one)) is not None})
    whose = {"agent": "t.agent_id IS :agent_id", "user": "t.user_id IS :user_id"}
    found: Any = db.execute(
        f"""SELECT t.conversation_id FROM chatlog AS t
            WHERE (t.said_at, t.role) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:times))
            AND t.conversation_id <> :conversation AND {OWNED} AND {whose.get(owner.scope, "1")}
            AND {can_see(replica.caller, "chatlog")}
            GROUP BY t.conversation_id ORDER BY count(*) DESC, t.conversation_id
            LIMIT {ORIGINS_MAX}""",
        {
            **replica.caller.params,
            "times": json.dumps(times),
            "conversation": conversation,
            "scope": owner.scope,
            "space": owner.space,
            "agent_id": owner.agent_id,
            "user_id": owner.user_id,
        },
    )
    return [str(one) for (one,) in found.fetchall()]


def without_copies(
    db: Connection, replica: Replica, owner: Owner, origins: Sequence[str], said: Sequence[Said]
) -> Own:
    """What a conversation has beside turns of its origins: role, text and time are the same."""
    own, forgotten = said, 0
    for origin in origins:
        made = _beside(db, replica, owner, origin, own)
        copies_min = COPIES_MIN if own is said else 1  # a copy of a copy has turns of both
        if made.known and made.known + made.forgotten >= copies_min:
            own, forgotten = [one for one, _ in made.new], forgotten + made.forgotten
    return own, forgotten


def _beside(
    db: Connection, replica: Replica, owner: Owner, origin: str, said: Sequence[Said]
) -> Plan:

    def same(kept: Held, one: Said) -> bool:
        return one.said_at is not None and stored.same(db, kept, one)

    def there(ordinal: int, one: Said) -> bool | None:
        return _there(db, owner, origin, ordinal, one)

    def key(ordinal: int, one: Said) -> str:
        return turn_ids.new(owner, Place(origin, ordinal, one.role, one.content))

    held = stored.held(db, replica, origin)
    return plan(held, said, same, there, Dead(held, key, lambda: stored.dead(db)))


def without_fork(
    db: Connection, replica: Replica, owner: Owner, origin: str, said: Sequence[Said]
) -> Own:
    """What was said in a fork itself: it begins with a copy, whose turns have other times.

    Of a fork of a fork that copy has turns of both.
    """
    number, forgotten = 0, 0
    for one in _forks(db, origin):
        copied, lost = _copied(db, replica, owner, one, said[number:])
        number, forgotten = number + copied, forgotten + lost
    return said[number:], forgotten


def _copied(
    db: Connection, replica: Replica, owner: Owner, origin: str, said: Sequence[Said]
) -> tuple[int, int]:
    """With how many turns of its origin a fork begins, and how many of them were forgotten."""
    held = sorted(stored.held(db, replica, origin), key=lambda one: (one.ordinal, one.id))
    place, last, forgotten = 0, -1, 0
    for number, one in enumerate(said):
        same = (at for at in range(place, len(held)) if stored.same(db, held[at], one))
        found = next(same, None)
        if found is not None:
            place, last = found + 1, held[found].ordinal
            continue
        gap = range(last + 1, last + 1 + GAP_MAX)
        lost = next((at for at in gap if _there(db, owner, origin, at, one) is False), None)
        if lost is None:
            return number, forgotten
        last, forgotten = lost, forgotten + 1
    return len(said), forgotten


def _forks(db: Connection, origin: str) -> list[str]:
    """The conversation that was forked, behind those that it was forked from, as far as known."""
    found = [origin]
    sql = """SELECT metadata ->> '$.forked_from' FROM chatlog WHERE conversation_id = ?
             AND json_valid(metadata) AND metadata ->> '$.forked_from' <> '' LIMIT 1"""
    while len(found) < ORIGINS_MAX:
        before = db.execute(sql, (found[-1],)).get
        if not isinstance(before, str) or before in found:
            break
        found.append(before)
    return found[::-1]


def _there(db: Connection, owner: Owner, origin: str, ordinal: int, one: Said) -> bool | None:
    place = Place(origin, ordinal, one.role, one.content)
    return stored.is_living(db, turn_ids.new(owner, place))
