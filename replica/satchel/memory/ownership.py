"""Whose a new row is: the default scope of a write, and the right to write there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from satchel.errors import InvalidInput, NotFound, Refused
from satchel.memory import text
from satchel.memory.lookup import can_see, find, not_found, resolve, sees
from satchel.memory.visibility import PRIVATE_SPACE, SCOPES, Caller
from satchel.store import rows
from satchel_sync.tables import Session, Space

if TYPE_CHECKING:
    from apsw import Connection


@dataclass(frozen=True, slots=True)
class Owner:
    """Scope and names that decide who sees a row."""

    scope: str
    agent_id: str | None
    user_id: str | None
    session_id: str | None
    space: str | None
    by_default: bool = False
    """Whether the scope is `session` because nothing but a session was named."""


def decide(
    caller: Caller,
    *,
    scope: str | None,
    space: str | None,
    session: str | None,
    agent: str | None = None,
) -> Owner:
    """The owner of a new row; without a scope: the given space or session, else agent, else user.

    Raises InvalidInput when the scope lacks its name, Refused when `agent` is not the caller's to
    give.
    """
    space = text.optional_name(space, "space")
    if space is not None and space.startswith(PRIVATE_SPACE):
        raise InvalidInput(
            f"{space!r} is what an agent keeps for itself, no space to write to",
            hint="the scope `agent` writes there, as that agent",
            field="space",
        )
    session = text.optional_name(session, "session")
    agent_id = author(caller, text.optional_name(agent, "agent"))
    by_default = scope is None and space is None and session is not None
    if scope is None:
        scope = "space" if space else "session" if session else "agent" if agent_id else "user"
    text.one_of(scope, SCOPES, "scope")
    needed = {"space": space, "session": session, "agent": agent_id, "user": caller.user_id}
    if scope in needed and needed[scope] is None:
        raise InvalidInput(
            f"scope {scope!r} needs a {scope}, and none is known",
            hint=f"give `--{scope}`",
            field=scope,
        )
    return Owner(scope, agent_id, caller.user_id, session, space, by_default)


def placed(db: Connection, caller: Caller, owner: Owner) -> Owner:
    """The owner with the whole id of its session; by default who sees that sees the row.

    Raises NotFound, AmbiguousId, and Refused where the writer could not read its own row.
    """
    if owner.session_id is None:
        return owner
    session = find(db, caller, Session, owner.session_id)
    if owner.by_default and session.scope in ("space", "user", "org"):
        user = session.user_id if session.scope == "user" else owner.user_id
        return Owner(session.scope, owner.agent_id, user, session.id, session.space)
    members = [session.agent_id, *text.stored_list(session.agent_ids)]
    if owner.scope == "session" and caller.role == "agent" and caller.agent_id not in members:
        raise Refused(
            f"{caller.agent_id} takes no part in session {session.id}",
            hint=f"`satchel session join {session.id}` first",
            field="session",
        )
    return replace(owner, session_id=session.id)


def of_turn(
    db: Connection,
    caller: Caller,
    conversation: str,
    scope: str | None,
    space: str | None,
    agent: str | None,
) -> Owner:
    """The owner of a turn: in a conversation that is a session, whoever sees that, by default.

    Raises what `decide` and `placed` raise; NotFound where the scope says so and it is none.
    """
    by_name = scope is None and space is None and sees(db, caller, "session", conversation)
    session = conversation if scope == "session" or by_name else None
    return placed(
        db, caller, decide(caller, scope=scope, space=space, session=session, agent=agent)
    )


def settle(db: Connection, caller: Caller, owner: Owner, *, local: bool = False) -> Owner:
    """Inside the write: make an unknown space, expand a short session id, check both rights.

    Raises NotFound for a session or space that is not there or not the caller's; a `local` row
    makes no space, for the space would travel.
    """
    session = owner.session_id
    if session is not None:
        session = resolve(db, caller, "session", session)
    if owner.space is not None:
        _enter_space(db, caller, owner.space, local)
    return Owner(owner.scope, owner.agent_id, owner.user_id, session, owner.space)


def author(caller: Caller, agent: str | None) -> str | None:
    if agent is None or agent == caller.agent_id:
        return caller.agent_id
    if not caller.sees_all:
        raise Refused(
            f"this caller may not write as agent {agent!r}",
            hint="who writes comes from the configuration (`--agent`, `SATCHEL_AGENT`)",
            field="agent",
        )
    return agent


def _enter_space(db: Connection, caller: Caller, space: str, local: bool) -> None:
    known = db.execute("SELECT 1 FROM space WHERE name = ?", (space,)).fetchone()
    if known is None and local:
        raise NotFound(
            f"no space {space!r}, and a local memory makes none: its name would travel",
            hint="leave the space out, or write something there first that may travel",
            field="space",
        )
    if known is None:
        # In the lowest version: a first use must never open a space that another machine closed.
        rows.insert_lowest(db, Space(name=space))
        return
    rule = can_see(caller, "space", access="write")
    sql = f"SELECT 1 FROM space AS t WHERE t.name = :key AND {rule}"
    if db.execute(sql, {**caller.params, "key": space}).fetchone() is None:
        raise not_found("space", space)
