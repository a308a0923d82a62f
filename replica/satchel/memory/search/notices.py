"""What the asker should know beside the hits; the same whether or not more is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.memory.lookup import can_see
from satchel.memory.search.filters import Filter
from satchel.memory.visibility import PRIVATE_SPACE, Caller, letting_in

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.search.hits import Hit
    from satchel.memory.search.query import Query, Term


def of_filters(db: Connection, caller: Caller, wanted: Filter) -> list[str]:
    """Where a filter asks for what this caller cannot be given."""
    found = []
    others = [name for name in wanted.agents if name != caller.agent_id]
    closed = _closed(db, caller, others) if others and caller.role == "agent" else []
    if closed:
        found.append(
            f"rows that only {', '.join(closed)} may see are not among these: that needs a"
            f" supervisor, a grant of the space {PRIVATE_SPACE + closed[0]!r} or a hand-off"
        )
    found += [_unseen(name) for name in others if not _is_known(db, caller, name)]
    for space in wanted.spaces:
        sql = f"SELECT 1 FROM space AS t WHERE t.name = :key AND {can_see(caller, 'space')}"
        if db.execute(sql, {**caller.params, "key": space}).fetchone() is None:
            found.append(f"no space {space!r} is known here, or none that this caller may see")
    return found


def _closed(db: Connection, caller: Caller, agents: Sequence[str]) -> list[str]:
    """Those that do not let the caller into what they keep for themselves."""
    let_in = {name for (name,) in db.execute(letting_in("read"), caller.params)}
    return [name for name in agents if name not in let_in]


def _is_known(db: Connection, caller: Caller, agent: str) -> bool:
    """Whether an agent is registered, or wrote something that this caller sees."""
    sql = f"""SELECT EXISTS (SELECT 1 FROM agent AS t
                             WHERE t.agent_id = :name AND {can_see(caller, "agent")})
              OR EXISTS (SELECT 1 FROM memory AS t
                         WHERE t.agent_id COLLATE NOCASE = :name AND t.agent_id = :name
                           AND {can_see(caller, "memory")})
              OR EXISTS (SELECT 1 FROM chatlog AS t
                         WHERE t.agent_id = :name AND {can_see(caller, "chatlog")})"""
    return bool(db.execute(sql, {**caller.params, "name": agent}).get)


def _unseen(agent: str) -> str:
    return f"no agent {agent!r} is known here, nor a row of it that this caller may see"


def of_words(query: Query, stand_ins: Mapping[Term, Term | None], hybrid: bool) -> list[str]:
    """Words that no row has, and what was looked for in their place."""
    found = []
    if not query.terms and not hybrid:
        found.append("the question has no word that can be searched for")
    for term, meant in stand_ins.items():
        if meant is not None:
            beginning = f"words that begin with {meant.raw!r}"
            instead = beginning if meant.kind == "prefix" else repr(meant.stem)
            found.append(f"no row has the word {term.raw!r}: looked for {instead}")
    return found


def of_answer(
    caller: Caller, found: Sequence[Hit], shown: Sequence[Hit], max_tokens: int | None
) -> list[str]:
    """What did not fit, and what an agent's empty answer was looked for in."""
    if len(shown) < len(found):
        return [f"{len(found) - len(shown)} more hits did not fit into max_tokens = {max_tokens}"]
    if found or caller.sees_all:
        return []
    mine = f"its own, its sessions' and spaces', user {caller.user_id!r}'s and everyone's rows"
    return [f"looked in what agent {caller.agent_id!r} may see: {mine}"]
