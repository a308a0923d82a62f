"""Hits: what of a found row is shown, and how much fits into an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.memory import view
from satchel.memory.interval import Moment
from satchel.memory.limits import CHARS_PER_TOKEN, HIT_OVERHEAD_TOKENS
from satchel.memory.lookup import can_see, fetch
from satchel.memory.search.query import Term
from satchel.memory.search.snippet import cut
from satchel.memory.search.tokens import Tokenizer
from satchel.memory.turns import neighbours
from satchel_sync.tables import Chatlog, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.search.ranked import Ranked
    from satchel.memory.visibility import Caller
    from satchel.replica import Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One row that was found; `turn` has the place of a chat turn and its neighbours."""

    id: str
    kind: str
    score: float
    title: str | None
    snippet: str
    type: str | None
    scope: str | None
    space: str | None
    agent_id: str | None
    valid_from: int | None
    valid_to: int | None
    recorded_at: int | None
    current: bool
    source: str | None
    turn: dict[str, Any] | None = None
    explain: dict[str, float] | None = None


def show(
    db: Connection,
    replica: Replica,
    moment: Moment,
    terms: Sequence[Term],
    ranked: Sequence[Ranked],
    explain: bool,
) -> list[Hit]:
    """The full row of each, read now, and only where the caller may see it.

    The turns beside a turn are those of the moment that is asked for.
    """
    tokenizer, now = Tokenizer(db), replica.now_ms()
    turns = [one.candidate.row for one in ranked if one.candidate.kind == "chatlog"]
    places = neighbours(db, replica.caller, moment, turns)
    rows = _rows(db, replica.caller, ranked)
    found = []
    for one in ranked:
        row = rows[one.candidate.id]
        snippet = cut(row.content or "", terms, tokenizer)
        parts = one.shown_parts if explain else None
        if one.candidate.kind == "chatlog":
            found.append(_turn(row, one.score, snippet, places[one.candidate.row], parts))
        else:
            found.append(_memory(row, one.score, snippet, now, parts))
    return found


def _rows(db: Connection, caller: Caller, ranked: Sequence[Ranked]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in dict.fromkeys(one.candidate.kind for one in ranked):
        rows = [one.candidate.row for one in ranked if one.candidate.kind == kind]
        source = f"""FROM json_each(:rows) AS k CROSS JOIN {kind} AS t ON t.row = k.value
                     WHERE {can_see(caller, kind)}"""
        params = {**caller.params, "rows": json.dumps(rows)}
        row_type: Any = Chatlog if kind == "chatlog" else Memory
        found |= {row.id: row for row in fetch(db, row_type, source, params)}
    return found


def as_hit(row: Memory, now_ms: int) -> Hit:
    """A memory that no search found: its beginning is shown."""
    return _memory(row, 0.0, cut(row.content or "", (), None), now_ms, None)


def _memory(
    row: Memory, score: float, snippet: str, now_ms: int, parts: dict[str, float] | None
) -> Hit:
    return Hit(
        id=row.id,
        kind="memory",
        score=score,
        title=row.title,
        snippet=snippet,
        type=row.type,
        scope=row.scope,
        space=row.space,
        agent_id=row.agent_id,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        recorded_at=row.recorded_at,
        current=view.is_current(row, now_ms),
        source=row.source,
        explain=parts,
    )


def _turn(
    row: Chatlog,
    score: float,
    snippet: str,
    place: dict[str, Any],
    parts: dict[str, float] | None,
) -> Hit:
    return Hit(
        id=row.id,
        kind="chatlog",
        score=score,
        title=row.conversation_id,
        snippet=snippet,
        type=row.role,
        scope=row.scope,
        space=row.space,
        agent_id=row.agent_id,
        valid_from=row.said_at,
        valid_to=None,
        recorded_at=row.said_at,
        current=True,
        source=row.host_agent,
        turn=place,
        explain=parts,
    )


def within(hits: Sequence[Hit], max_tokens: int | None) -> list[Hit]:
    """The best hits that fit the budget."""
    if max_tokens is None:
        return list(hits)
    used = 0
    for number, hit in enumerate(hits):
        used += HIT_OVERHEAD_TOKENS + -(-_chars(hit) // CHARS_PER_TOKEN)
        if used > max_tokens:
            return list(hits[:number])
    return list(hits)


def _chars(hit: Hit) -> int:
    turn = hit.turn or {}
    around = sum(len(str(turn.get(name) or "")) for name in ("before", "after"))
    return len(hit.title or "") + len(hit.snippet) + around
