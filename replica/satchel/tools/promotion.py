"""Tools that make a memory of a turn, give one to more readers, and take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.memory import promotion
from satchel.memory.promotion import Demoted, Promoted
from satchel.tools.kinds import Id, Text
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(positional=("id",))
def memory_promote(
    replica: Replica,
    id: Id,  # noqa: A002 (the column's name)
    scope: str | None = None,
    space: str | None = None,
    session: Id | None = None,
    reason: str | None = None,
) -> Promoted:
    """Give a memory to more readers: a linked version of it; the memory itself stays.

    id: The memory
    scope: session, space, user or org, default org
    space: The shared pool that gets it
    session: The session that gets it
    reason: Why others should know
    """
    return promotion.promote(replica, id, scope=scope, space=space, session=session, reason=reason)


@tool(positional=("id",))
def memory_demote(replica: Replica, id: Id) -> Demoted:  # noqa: A002
    """Take a promoted version back from those it was given to.

    id: The version, or the memory that it repeats
    """
    return promotion.demote(replica, id)


@tool(positional=("id",))
def chatlog_promote(
    replica: Replica,
    id: Id,  # noqa: A002
    text: Text | None = None,
    title: str | None = None,
    type: str | None = None,  # noqa: A002
    scope: str | None = None,
    space: str | None = None,
    session: Id | None = None,
    reason: str | None = None,
) -> Promoted:
    """Make a memory of what was said in a chat turn.

    id: The turn
    text: What to remember in its own words, default the text of the turn
    title: A few words that name it
    type: fact, decision, preference, ..., default note
    scope: session, space, user or org, default the readers of the turn
    space: The shared pool that gets it
    session: The session that gets it
    reason: Why it should be remembered
    """
    return promotion.promote_turn(
        replica,
        id,
        content=text,
        title=title,
        type=type,
        scope=scope,
        space=space,
        session=session,
        reason=reason,
    )
