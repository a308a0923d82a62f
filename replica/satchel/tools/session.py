"""Tools on sessions: start, join, end, get, list, sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from satchel.memory.sessions import sessions
from satchel.tools.kinds import Count, Id, Range
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool()
def session_start(
    replica: Replica,
    title: str | None = None,
    scope: str | None = None,
    space: str | None = None,
    agents: list[str] | None = None,
) -> dict[str, Any]:
    """Open a session that agents share.

    title: A few words that name it
    scope: session, space, user or org
    space: A shared pool
    agents: Who takes part, beside the caller
    """
    return sessions.start(replica, title=title, scope=scope, space=space, agents=agents)


@tool(positional=("id",))
def session_join(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002 (the column's name)
    """Become a participant of an open session.

    id: The session
    """
    return sessions.join(replica, id)


@tool(positional=("id",))
def session_end(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Close a session and sum it up in one memory; doing it twice changes nothing.

    id: The session
    """
    return sessions.end(replica, id)


@tool(positional=("id",), writes=False)
def session_get(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Read a session.

    id: The session
    """
    return sessions.get(replica, id)


@tool(writes=False)
def session_list(replica: Replica, open: bool = False, limit: Count = 50) -> dict[str, Any]:  # noqa: A002
    """List sessions, the newest first.

    open: Only those that are open
    limit: How many at most
    """
    return sessions.list_sessions(replica, open_only=open, limit=limit)


@tool()
def session_sweep(
    replica: Replica,
    idle_days: Annotated[int, Range(0, sessions.IDLE_DAYS_MAX)] | None = None,
) -> dict[str, Any]:
    """End abandoned sessions, and bring summaries up to date with what came later.

    idle_days: Days without a write, default the setting session.abandoned_days
    """
    return sessions.sweep(replica, idle_days=idle_days)
