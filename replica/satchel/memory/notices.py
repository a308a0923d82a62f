"""What the asker should know beside the hits; the same whether or not more is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.memory.filters import Filter
from satchel.memory.hits import Hit
from satchel.memory.lookup import can_see
from satchel.memory.query import Query, Term
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection


def of_filters(db: Connection, caller: Caller, wanted: Filter) -> list[str]:
    """Where a filter asks for what this caller cannot be given."""
    found = []
    others = [name for name in wanted.agents if name != caller.agent_id]
    if others and caller.role == "agent":
        found.append(
            f"rows that only {', '.join(others)} may see are not among these: that needs a"
            " supervisor, a shared space or a hand-off"
        )
    for space in wanted.spaces:
        sql = f"SELECT 1 FROM space AS t WHERE t.name = :key AND {can_see(caller, 'space')}"
        if db.execute(sql, {**caller.params, "key": space}).fetchone() is None:
            found.append(f"no space {space!r} is known here, or none that this caller may see")
    return found


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
