"""Spaces: named pools that agents share, and who may read and write in them.

A space is open to all until somebody closes it by naming members or grants; from then on only those
named get in, and only members (and whoever supervises) change who they are. Taking the last name
away never opens it again: that takes a grant to "*". What an agent keeps for itself is a space too,
`agent:NAME`: that agent (or who is above it) lets others in; nothing else is written there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from satchel.errors import Conflict, InvalidInput, Refused
from satchel.memory import text, view
from satchel.memory.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX, SPACE_NAMES_MAX
from satchel.memory.lookup import can_see, find, not_found, select
from satchel.memory.visibility import PRIVATE_SPACE
from satchel.store import rows
from satchel.store.first_made import first_made
from satchel_sync.tables import SPACE, Space

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

Right = Literal["read", "write"]
RIGHTS: tuple[Right, ...] = ("read", "write")
EVERYONE = "*"


def get(replica: Replica, name: str) -> dict[str, Any]:
    """A space with `open`: whether everybody reads and writes there. Raises NotFound."""
    with replica.store.read() as db:
        return _shown(find(db, replica.caller, Space, text.name(name, "name")))


def list_spaces(
    replica: Replica, *, limit: int = LIST_ROWS_DEFAULT, after: str | None = None
) -> dict[str, Any]:
    """Spaces that the caller sees, by name: `{items, next}`; `after` is the `next` before."""
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    params = {
        **replica.caller.params,
        "after": text.optional_name(after, "after"),
        "limit": limit + 1,
    }
    where = f"{can_see(replica.caller, 'space')} AND (:after IS NULL OR t.name > :after)"
    with replica.store.read() as db:
        found = select(db, Space, where, params, "ORDER BY t.name LIMIT :limit")
    page = found[:limit]
    more = len(found) > limit
    return {"items": [_shown(one) for one in page], "next": page[-1].name if more else None}


def grant(
    replica: Replica,
    name: str,
    agents: Sequence[str],
    *,
    right: str = "read",
    description: str | None = None,
) -> dict[str, Any]:
    """Let agents read, or read and write, in a space; "*" is everyone. Answers with the space.

    An unknown space is made, closed to all others. Whoever closes a space as an agent becomes its
    member. Raises InvalidInput, NotFound, Refused (not the caller's to administer).
    """
    chosen = text.one_of(right, RIGHTS, "right")
    names = _names(agents)
    with replica.store.write(replica.actor) as db:
        space = _closed(replica, _administered(db, replica, name))
        grants = grants_of(space)
        grants[chosen] = list(dict.fromkeys([*grants.get(chosen, []), *names]))
        return _save(db, replica, space, grants=grants, description=description)


def revoke(replica: Replica, name: str, agents: Sequence[str]) -> dict[str, Any]:
    """Take every right in a space from agents, membership too. Answers with the space.

    Raises InvalidInput, NotFound, Refused, Conflict (the space is open: nobody is named there).
    """
    names = _names(agents)
    with replica.store.write(replica.actor) as db:
        space = _administered(db, replica, name)
        if rows.get(db, SPACE, space.name) is None:
            raise not_found("space", space.name)
        if is_open(space):
            raise Conflict(
                f"space {space.name!r} is open to all: there is no right to take from one",
                hint=f"`satchel space members {space.name} --add AGENT` closes it to all others",
                field="name",
            )
        grants = {
            right: [one for one in named if one not in names]
            for right, named in grants_of(space).items()
        }
        members = [one for one in text.stored_list(space.members) if one not in names]
        _refuse_lockout(replica, space, members)
        return _save(db, replica, space, grants=grants, members=members)


def change_members(
    replica: Replica,
    name: str,
    *,
    add: Sequence[str] | None = None,
    remove: Sequence[str] | None = None,
    description: str | None = None,
) -> dict[str, Any]:
    """Add and remove members, who read, write and administer. Answers with the space.

    As `grant` makes an unknown space and closes an open one. Raises InvalidInput, NotFound,
    Refused.
    """
    come = text.names(add, "add", SPACE_NAMES_MAX)
    go = text.names(remove, "remove", SPACE_NAMES_MAX)
    if not come and not go:
        raise InvalidInput("nobody was named", hint="give `--add` or `--remove`", field="add")
    if EVERYONE in come:
        raise InvalidInput(
            "everyone cannot be a member: members administer the space",
            hint=f'`satchel space grant {name} "*" --right write` opens it',
            field="add",
        )
    with replica.store.write(replica.actor) as db:
        space = _closed(replica, _administered(db, replica, name))
        held = [*text.stored_list(space.members), *come]
        members = [one for one in dict.fromkeys(held) if one not in go]
        _refuse_lockout(replica, space, members)
        return _save(db, replica, space, members=members, description=description)


def is_open(space: Space) -> bool:
    """Whether nobody was ever named in it; as the predicate of `visibility.py` has it."""
    return space.members is None and space.grants is None


def grants_of(space: Space) -> dict[str, list[str]]:
    """Right -> agents; what somebody else wrote there and is no such thing counts as empty."""
    stored: Mapping[str, Any] = text.stored_object(space.grants)
    return {right: text.stored_list(json.dumps(stored.get(right))) for right in RIGHTS}


# ---- who may, and what is written ---------------------------------------------------------------


def _administered(db: Connection, replica: Replica, given: str) -> Space:
    """The space, which this caller may administer; an unknown one as if it were made now."""
    caller, name = replica.caller, text.name(given, "name")
    owner = name.removeprefix(PRIVATE_SPACE) if name.startswith(PRIVATE_SPACE) else None
    if owner is not None and caller.role == "agent" and owner != caller.agent_id:
        raise not_found("space", name)  # whether or not that agent has let anybody in
    held: Space | None = rows.get(db, SPACE, name)
    if held is None:
        mine = text.json_list(_self(replica) if owner is None else [owner])
        return Space(name=name, members=mine, grants="{}", created_at=replica.now_ms())
    find(db, caller, Space, name)  # where it is not the caller's to see: as if there were none
    if caller.role != "agent" or owner is not None:
        return held
    if is_open(held):
        raise Refused(
            f"space {name!r} is open to all agents, and none of them may close it",
            hint="the operator or a supervisor can",
            field="name",
        )
    if caller.agent_id not in text.stored_list(held.members):
        raise Refused(
            f"{caller.agent_id} is no member of space {name!r}: only members change who may enter",
            hint="a member, a supervisor or the operator can",
            field="name",
        )
    return held


def _closed(replica: Replica, space: Space) -> Space:
    """The space as it is once somebody is named in it: whoever closed it stays inside."""
    if not is_open(space):
        return space
    return replace(space, members=text.json_list(_self(replica)), grants="{}")


def _self(replica: Replica) -> list[str]:
    return [replica.caller.agent_id] if replica.caller.agent_id else []


def _refuse_lockout(replica: Replica, space: Space, members: Sequence[str]) -> None:
    """An agent cannot take away the last member: nobody of them could let anybody in again."""
    if replica.caller.role == "agent" and not members:
        raise Refused(
            f"space {space.name!r} would have no member left",
            hint="add another member first; the operator or a supervisor can empty it",
            field="name",
        )


def _save(
    db: Connection,
    replica: Replica,
    space: Space,
    *,
    grants: Mapping[str, Sequence[str]] | None = None,
    members: Sequence[str] | None = None,
    description: str | None = None,
) -> dict[str, Any]:
    """Store what is given. No list of names becomes NULL: that would open the space.

    What agents make may be another's already, on a machine that this one has not heard of yet.
    """
    said = text.optional_text(description, "description")
    wanted = replace(
        space,
        grants=space.grants if grants is None else _stored({k: v for k, v in grants.items() if v}),
        members=space.members if members is None else _stored(list(members)),
        description=space.description if said is None else said,
    )
    is_first_makers = replica.caller.role == "agent" and not space.name.startswith(PRIVATE_SPACE)
    kept = first_made(db, SPACE, space.name, replica.now_ms()) if is_first_makers else nullcontext()
    with kept:
        if rows.get(db, SPACE, space.name) is None:
            rows.insert(db, wanted)
        else:
            columns = ("grants", "members", "description")
            rows.update(db, SPACE, space.name, **{name: getattr(wanted, name) for name in columns})
    return _shown(wanted)


def _names(agents: Sequence[str]) -> list[str]:
    names = text.names(agents, "agents", SPACE_NAMES_MAX)
    if not names:
        raise InvalidInput("nobody was named", hint="give one or more agents", field="agents")
    return names


def _stored(named: Mapping[str, Sequence[str]] | Sequence[str]) -> str:
    return json.dumps(named, ensure_ascii=False, separators=(",", ":"))


def _shown(space: Space) -> dict[str, Any]:
    return {**view.plain(space), "open": is_open(space)}
