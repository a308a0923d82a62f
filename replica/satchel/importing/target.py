"""Where an import goes: what the options of the command say for all of its records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from satchel.errors import Refused
from satchel.memory import ownership, text
from satchel.memory.ownership import Owner
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.importing.records import Note, Talk


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Columns for all records; None = what the record says, else the default of a write.

    `source` names the source in place of its path: a moved or copied one is known again.
    """

    scope: str | None = None
    space: str | None = None
    session: str | None = None
    type: str | None = None
    source: str | None = None
    local: bool = False
    owner: Owner | None = None
    """Made of scope, space and session by `placed`."""


def placed(db: Connection, caller: Caller, target: Target) -> Target:
    """The target with its owner, where it says whose the records are, whatever they say.

    With the whole id of a session: ids of memories are made of it. Raises NotFound, Refused.
    """
    if not (target.scope or target.space or target.session):
        return target
    owner = ownership.decide(caller, scope=target.scope, space=target.space, session=target.session)
    return replace(target, owner=ownership.placed(db, caller, owner))


def owner_of(record: Note | Talk, target: Target, caller: Caller) -> Owner:
    """Whose a record will be: as the target says, else as the source says, else the caller's.

    Raises Refused for a record of somebody else's, InvalidInput where a scope lacks its name.
    """
    if target.owner is not None:
        return target.owner
    agent = text.optional_name(record.agent, "agent_id")
    user = text.optional_name(record.user, "user_id")
    if user is not None and user != caller.user_id:
        if not caller.sees_all:
            raise _of_another("user", user)
        caller = replace(caller, user_id=user)
    if agent is not None and agent != caller.agent_id and not caller.sees_all:
        raise _of_another("agent", agent)
    scope = getattr(record, "scope", None)
    return ownership.decide(caller, scope=scope, space=None, session=None, agent=agent)


def _of_another(what: str, name: str) -> Refused:
    return Refused(
        f"it is of the {what} {name!r}, and this caller may not write for others",
        hint="give --scope to take it as your own, or import as the operator",
        field=f"{what}_id",
    )
