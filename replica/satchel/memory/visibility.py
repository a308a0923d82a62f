"""Who sees what: one SQL predicate a row kind, and every path to a row goes through it.

Scopes: `agent` only the agent itself and whom it lets in, `session` the participants, `space` the
members, `user` whoever asks for that user, `org` everyone. The operator sees everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from satchel.store.sql import alive

PRIVATE_SPACE = "agent:"
"""`agent:NAME` is the space of what an agent keeps for itself."""
SCOPES = ("agent", "session", "space", "user", "org")
Scope = Literal["agent", "session", "space", "user", "org"]
Role = Literal["operator", "supervisor", "agent"]
Access = Literal["read", "past", "write"]
"""`past` is what a row was before: who was only handed a memory sees it as it is."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: an agent, on behalf of a user, in a role."""

    agent_id: str | None = None
    user_id: str | None = None
    role: Role = "operator"

    @property
    def sees_all(self) -> bool:
        """Whether no predicate applies."""
        return self.role == "operator"

    @property
    def params(self) -> dict[str, str | int | None]:
        """Values of the predicates' named parameters."""
        supervises = 1 if self.role == "supervisor" else 0
        return {
            "see_agent": self.agent_id,
            "see_user": self.user_id,
            "see_supervised": supervises,
        }


@lru_cache(maxsize=128)
def visible(sees_all: bool, kind: str, alias: str, access: Access = "read") -> str:
    """SQL: the caller may read (or change) the living row `alias` of this kind.

    Parameters are `Caller.params`. Whether the row is alive is a part of it.
    """
    rule = "1" if sees_all else RULES[kind](alias, access)
    return f"({alive(alias)} AND ({rule}))"


def owned(alias: str, access: Access, session: str) -> str:
    """SQL: the rule of the five scopes; `session` says which session the row belongs to."""
    return f"""CASE {alias}.scope
        WHEN 'org' THEN 1
        WHEN 'user' THEN {alias}.user_id = :see_user
        WHEN 'agent' THEN :see_supervised OR {alias}.agent_id = :see_agent
            OR {alias}.agent_id IN ({letting_in(access)})
        WHEN 'session' THEN :see_supervised OR {_participates(session)}
        WHEN 'space' THEN :see_supervised OR {_member(f"{alias}.space", access)}
        ELSE 0 END"""


def _participates(session: str) -> str:
    return f"""EXISTS (SELECT 1 FROM session AS s WHERE s.id = {session} AND {alive("s")}
        AND (s.agent_id = :see_agent
             OR EXISTS (SELECT 1 FROM json_each({_array("s.agent_ids")}) AS p
                        WHERE p.value = :see_agent)))"""


def _member(space: str, access: Access) -> str:
    """A space without members and grants is open; a space that is not known is closed.

    `grants` is {"read": [agent, …], "write": [agent, …]}; "*" is everyone, write includes read.
    """
    return f"""EXISTS (SELECT 1 FROM space AS p WHERE p.name = {space} AND {alive("p")}
        AND ((p.members IS NULL AND p.grants IS NULL) OR {_named("p", access)}))"""


def letting_in(access: Access) -> str:
    """SQL: the agents that let the caller into what they keep for themselves.

    That is a space too, `agent:NAME`, which only the agent itself or who is above it gives rights
    in; nothing is written there, and nobody is in it unless named. The same for every row: SQLite
    asks it once a statement.
    """
    return f"""SELECT substr(p.name, {len(PRIVATE_SPACE) + 1}) FROM space AS p
        WHERE p.name >= '{PRIVATE_SPACE}' AND p.name < '{PRIVATE_SPACE[:-1]};' AND {alive("p")}
          AND {_named("p", access)}"""


def _named(space: str, access: Access) -> str:
    rights = "('write')" if access == "write" else "('read', 'write')"
    return f"""(EXISTS (SELECT 1 FROM json_each({_array(f"{space}.members")}) AS m
                        WHERE m.value = :see_agent)
                OR EXISTS (SELECT 1 FROM json_tree({_object(f"{space}.grants")}) AS g
                           WHERE g.type = 'text' AND g.value IN (:see_agent, '*')
                             AND replace(g.path, '$.', '') IN {rights}))"""


def _array(column: str) -> str:
    """A JSON column that anybody may have written, as an array: broken JSON counts as empty."""
    return f"CASE WHEN json_valid({column}) THEN {column} ELSE '[]' END"


def _object(column: str) -> str:
    return f"CASE WHEN json_valid({column}) THEN {column} ELSE '{{}}' END"


def _memory(alias: str, access: Access) -> str:
    rule = owned(alias, access, f"{alias}.session_id")
    return f"({rule} OR {_handed_over(alias)})" if access == "read" else rule


def _handed_over(alias: str) -> str:
    """An agent's own row that it named in the context of a message to the caller."""
    return f"""({alias}.scope = 'agent' AND EXISTS (
        SELECT 1 FROM message AS h, json_each({_array("h.context_ids")}) AS c
        WHERE h.to_agent = :see_agent AND h.from_agent = {alias}.agent_id
          AND c.value = {alias}.id AND {alive("h")}))"""


def _chatlog(alias: str, access: Access) -> str:
    # A conversation is the session that a turn with the scope `session` belongs to.
    return owned(alias, access, f"{alias}.conversation_id")


def _task(alias: str, access: Access) -> str:
    # Whoever is to do a task, holds it or asked for it has to see it, whatever its scope.
    return f"""({owned(alias, access, f"{alias}.session_id")}
        OR :see_agent IN ({alias}.owner_agent, {alias}.claimed_by, {alias}.created_by))"""


def _session(alias: str, access: Access) -> str:
    return f"({owned(alias, access, f'{alias}.id')} OR {_participates(f'{alias}.id')})"


def _message(alias: str, access: Access) -> str:
    ends = f"{alias}.to_agent" if access == "write" else f"{alias}.to_agent, {alias}.from_agent"
    return f":see_agent IN ({ends})"


def _agent(alias: str, access: Access) -> str:
    return f"(:see_supervised OR {alias}.agent_id = :see_agent)" if access == "write" else "1"


def _space(alias: str, access: Access) -> str:
    return f"(:see_supervised OR {_member(f'{alias}.name', access)})"


def _relationship(alias: str, access: Access) -> str:
    """Both ends visible; to cut an edge, one of them must be the caller's to change."""
    start, end = f"{alias}.from_id", f"{alias}.to_id"
    seen: Access = "read" if access == "write" else access
    both = f"({_inherits('memory', start, seen)} AND {_inherits('memory', end, seen)})"
    if access != "write":
        return both
    either = f"{_inherits('memory', start, 'write')} OR {_inherits('memory', end, 'write')}"
    return f"({both} AND ({either}))"


def _embedding(alias: str, access: Access) -> str:
    return _inherits("memory", f"{alias}.memory_id", access)


def _history(alias: str, access: Access) -> str:
    """As the row that it is about, and its past; what is left of a deleted row: `deleted.py`."""
    access = "past" if access == "read" else access
    kinds = ("memory", "task", "chatlog", "session", "message", "agent", "space", "relationship")
    cases = " ".join(
        f"WHEN '{kind}' THEN {_inherits(kind, f'{alias}.key', access)}" for kind in kinds
    )
    return f"CASE {alias}.kind {cases} ELSE 0 END"


def _inherits(kind: str, key: str, access: Access) -> str:
    column = {"agent": "agent_id", "space": "name"}.get(kind, "id")
    inner = f"i_{kind}"
    return f"""EXISTS (SELECT 1 FROM {kind} AS {inner} WHERE {inner}.{column} = {key}
        AND {alive(inner)} AND {RULES[kind](inner, access)})"""


RULES: dict[str, Callable[[str, Access], str]] = {
    "memory": _memory,
    "chatlog": _chatlog,
    "task": _task,
    "session": _session,
    "message": _message,
    "agent": _agent,
    "space": _space,
    "relationship": _relationship,
    "embedding": _embedding,
    "history": _history,
}
"""Row kind -> its rule, without the demand to be alive."""
