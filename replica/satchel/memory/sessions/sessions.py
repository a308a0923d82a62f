"""Sessions: a stretch of work that agents share, and that ends in one summary."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict, InvalidInput, StoreBusy
from satchel.memory import ownership, text, view
from satchel.memory.limits import (
    LIST_ROWS_DEFAULT,
    LIST_ROWS_MAX,
    SESSION_REFRESH_MS,
    SESSIONS_SWEPT_MAX,
)
from satchel.memory.lookup import can_see, find, find_to_change, select
from satchel.memory.sessions.consolidation import (
    DAY_MS,
    EXTRACTIVE,
    close,
    is_stale,
    prepare,
    refresh,
    save,
)
from satchel.memory.sessions.merge import merged
from satchel.memory.sessions.sources import last_at
from satchel.memory.sessions.summary import Summarizer
from satchel.store import rows, wiping
from satchel_sync.tables import Session

if TYPE_CHECKING:
    from satchel.replica import Replica

IDLE_DAYS_MAX = 36_500


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
        held = merged(db, find(db, replica.caller, Session, id))
        if held.closed_at is not None:
            raise Conflict(f"session {held.id} is closed", hint="start a new one", field="id")
        members = text.stored_list(held.agent_ids)
        members = members if who in members else [*members, who]
        joined = replace(held, agent_ids=text.json_list(members))
        save(db, joined)
    return view.plain(joined)


def end(
    replica: Replica,
    id: str,  # noqa: A002
    *,
    summarizer: Summarizer = EXTRACTIVE,
) -> dict[str, Any]:
    """Close a session and sum it up in one episodic memory; ending it twice changes nothing.

    Answers with the session; `summary_memory_id` is None where there was nothing to sum up.
    Working memories of it expire after `session.working_days`. Raises NotFound, AmbiguousId,
    Refused, and what the summarizer raises: then the session stays open.
    """
    with replica.store.read() as db:
        held = find_to_change(db, replica.caller, Session, id)
    if held.closed_at is None:
        held = _end(replica, held, summarizer)
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


def sweep(replica: Replica, *, idle_days: int | None = None) -> dict[str, Any]:
    """End abandoned sessions, and bring summaries up to date: `{ended: [id], refreshed: [id]}`.

    Abandoned is an open session in which nothing was written for `idle_days` (default: the setting
    `session.abandoned_days`), or that was ended on another machine. Those that the caller may
    change, at most SESSIONS_SWEPT_MAX; each is a transaction of its own.
    """
    days = replica.settings.session_abandoned_days if idle_days is None else idle_days
    idle_ms = text.whole(days, "idle_days", 0, IDLE_DAYS_MAX) * DAY_MS
    ended, refreshed = [], []
    for session in _to_sweep(replica):
        if session.closed_at is None:
            if _is_abandoned(replica, session, idle_ms):
                ended.append(_end(replica, session, EXTRACTIVE).id)
        elif _refreshed(replica, session):
            refreshed.append(session.id)
    if refreshed:
        with suppress(StoreBusy):  # it stays owed, to the next sync
            wiping.wipe(replica.store)
    return {"ended": ended, "refreshed": refreshed}


def _end(replica: Replica, session: Session, summarizer: Summarizer) -> Session:
    """Sum up outside of the transaction, then close the session in one."""
    now = replica.now_ms()
    prepared = prepare(replica, session, now, summarizer)
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Session, session.id)
        if held.closed_at is not None:  # another process was faster
            return held
        whole = merged(db, held)
        if whole.closed_at is None:
            return close(db, replica, whole, now, prepared)
        return refresh(db, replica, whole)  # ended on another machine; a merge has lost its word


def _to_sweep(replica: Replica) -> list[Session]:
    """Open sessions, the oldest first, and those closed not long ago, the last first."""
    where = f"""{can_see(replica.caller, "session", access="write")}
        AND (t.closed_at IS NULL OR t.closed_at > :since)"""
    params = {**replica.caller.params, "since": replica.now_ms() - SESSION_REFRESH_MS}
    order = "t.closed_at IS NOT NULL, coalesce(-t.closed_at, t.opened_at), t.id"
    tail = f"ORDER BY {order} LIMIT {SESSIONS_SWEPT_MAX}"
    with replica.store.read() as db:
        return select(db, Session, where, params, tail)


def _is_abandoned(replica: Replica, session: Session, idle_ms: int) -> bool:
    with replica.store.read() as db:
        if merged(db, session).closed_at is not None:
            return True
        return last_at(db, session) <= replica.now_ms() - idle_ms


def _refreshed(replica: Replica, session: Session) -> bool:
    with replica.store.read() as db:
        if not is_stale(db, replica, merged(db, session), session):
            return False
    with replica.store.write(replica.actor) as db:
        before = db.total_changes()
        held = find_to_change(db, replica.caller, Session, session.id)
        refresh(db, replica, merged(db, held))
        return db.total_changes() != before
