"""Sessions: a stretch of work that agents share. (The summary at the end is not written yet.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict, InvalidInput
from satchel.memory import ownership, text, view
from satchel.memory.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, find, find_to_change, select
from satchel.store import rows
from satchel_sync.tables import SESSION, Session

if TYPE_CHECKING:
    from satchel.replica import Replica


def start(
    replica: Replica,
    *,
    title: str | None = None,
    scope: str | None = None,
    space: str | None = None,
    agents: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Open a session; its participants are the caller and `agents`. Answers with the session.

    Without a scope: the given space, else its participants, else (no agent known) the user.
    """
    caller, now = replica.caller, replica.now_ms()
    invited = text.names(agents, "agents")
    members = list(dict.fromkeys([*([caller.agent_id] if caller.agent_id else []), *invited]))
    if scope is None:
        scope = "space" if space else "session" if members else "user"
    if scope == "session":
        whose = ownership.Owner(scope, caller.agent_id, caller.user_id, None, space)
    else:
        whose = ownership.decide(caller, scope=scope, space=space, session=None)
    session = Session(
        id=rows.new_id(now),
        title=text.optional_text(title, "title"),
        scope=whose.scope,
        space=whose.space,
        user_id=whose.user_id,
        agent_id=whose.agent_id,
        agent_ids=text.json_list(members),
        opened_at=now,
    )
    with replica.store.write(replica.actor) as db:
        ownership.settle(db, caller, whose)
        rows.insert(db, session)
    return view.plain(session)


def join(replica: Replica, id: str, *, agent: str | None = None) -> dict[str, Any]:  # noqa: A002
    """Become a participant of an open session that the caller sees. Raises Conflict when closed."""
    who = ownership.author(replica.caller, text.optional_name(agent, "agent"))
    if who is None:
        raise InvalidInput("joining needs an agent", hint="give `--agent`", field="agent")
    with replica.store.write(replica.actor) as db:
        held = find(db, replica.caller, Session, id)
        if held.closed_at is not None:
            raise Conflict(f"session {held.id} is closed", hint="start a new one", field="id")
        members = text.stored_list(held.agent_ids)
        if who not in members:
            listed = text.json_list([*members, who])
            rows.update(db, SESSION, held.id, agent_ids=listed)
            held = replace(held, agent_ids=listed)
    return view.plain(held)


def end(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Close a session; ending it twice changes nothing. Answers with the session."""
    now = replica.now_ms()
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Session, id)
        if held.closed_at is None:
            rows.update(db, SESSION, held.id, closed_at=now)
            held = replace(held, closed_at=now)
    return view.plain(held)


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """One session. Raises NotFound or AmbiguousId."""
    with replica.store.read() as db:
        return view.plain(find(db, replica.caller, Session, id))


def list_sessions(
    replica: Replica, *, open_only: bool = False, limit: int = LIST_ROWS_DEFAULT
) -> dict[str, Any]:
    """Sessions, the newest first: `{items}`."""
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    where = f"{can_see(replica.caller, 'session')} AND (NOT :open OR t.closed_at IS NULL)"
    params = {**replica.caller.params, "open": 1 if open_only else 0, "limit": limit}
    with replica.store.read() as db:
        tail = "ORDER BY t.opened_at DESC, t.id DESC LIMIT :limit"
        return {"items": [view.plain(one) for one in select(db, Session, where, params, tail)]}
