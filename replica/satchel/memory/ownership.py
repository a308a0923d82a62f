"""Whose a new row is: the default scope of a write, and the right to write there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.errors import InvalidInput, NotFound, Refused
from satchel.memory import text
from satchel.memory.lookup import can_see, not_found, resolve
from satchel.memory.visibility import SCOPES, Caller
from satchel.store import rows
from satchel_sync.tables import Space

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
    session = text.optional_name(session, "session")
    agent_id = author(caller, text.optional_name(agent, "agent"))
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
    return Owner(scope, agent_id, caller.user_id, session, space)


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
