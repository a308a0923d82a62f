"""Search: candidates by keyword, meaning and id, one score, a floor, a budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from satchel.errors import EngineUnavailable, InvalidInput
from satchel.memory import audit, text, view
from satchel.memory.candidates import Source, by_text
from satchel.memory.filters import Filter
from satchel.memory.limits import (
    CHARS_PER_TOKEN,
    HIT_OVERHEAD_TOKENS,
    HITS_MAX,
    QUERY_CHARS_MAX,
    QUERY_TERMS_MAX,
)
from satchel.memory.lookup import can_see, matches
from satchel.memory.query import Query, Term, Tokenizer, parse
from satchel.memory.scoring import Document, Weights, matters, parts, total
from satchel.memory.snippet import cut
from satchel.memory.turns import neighbours
from satchel.memory.visibility import Caller
from satchel_sync.tables import Chatlog, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder
    from satchel.memory.pool import Pool
    from satchel.replica import Replica

KINDS = ("all", "memory", "chatlog")
Kind = Literal["all", "memory", "chatlog"]
ROW_OF: dict[str, type[Any]] = {"memory": Memory, "chatlog": Chatlog}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits, best first; `dropped` counts what was found and left out, by reason."""

    hits: list[Hit]
    mode: Literal["hybrid", "keyword"]
    dropped: dict[str, int] | None = None
    notices: list[str]
    took_ms: float


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The vector side of one question."""

    pool: Pool
    vector: bytes


@dataclass(frozen=True, slots=True)
class _Scored:
    row: Any
    kind: str
    parts: dict[str, float]
    score: float


def search(
    replica: Replica,
    query: str,
    *,
    k: int = 10,
    kind: Kind = "all",
    type: str | None = None,  # noqa: A002 - the column's name
    scope: str | None = None,
    spaces: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    session: str | None = None,
    conversation_id: str | None = None,
    as_of: int | None = None,
    known_at: int | None = None,
    since: int | None = None,
    until: int | None = None,
    max_tokens: int | None = None,
    explain: bool = False,
) -> SearchAnswer:
    """What has to do with the question and this caller may see; fewer than `k` is a good answer.

    Times are UTC milliseconds; `as_of` and `known_at` default to now. `max_tokens` (estimated at
    four characters a token) bounds the hits. Raises InvalidInput, NotFound for a session.
    """
    started = time.perf_counter()
    query = _question(query)
    k = text.whole(k, "k", 1, HITS_MAX)
    max_tokens = text.optional_whole(max_tokens, "max_tokens", 1, 2**31)
    kind = text.one_of(kind, KINDS, "kind")  # type: ignore[assignment]
    conversation = text.optional_name(conversation_id, "conversation_id")
    wanted = Filter.of(
        replica.now_ms(),
        type=type,
        scope=scope,
        spaces=spaces,
        agents=agents,
        session=session,
        as_of=as_of,
        known_at=known_at,
        since=since,
        until=until,
    )
    embedder, notices = _engine(replica, kind)
    vector = embedder.embed_query(query) if embedder else None
    with replica.store.read() as db:
        wanted = wanted.settled(db, replica.caller)
        tokenizer = Tokenizer(db)
        asked = parse(query, tokenizer)
        meaning = _meaning(db, replica, embedder, vector)
        notices += _notices(db, replica, asked, wanted, meaning)
        scored = [
            one
            for name in _kinds(kind, wanted, conversation)
            for one in _of_kind(
                db,
                replica,
                asked,
                wanted,
                name,
                meaning if name == "memory" else None,
                conversation,
            )
        ]
        kept = [one for one in scored if matters(one.parts, one.kind, meaning is not None)]
        kept.sort(key=lambda one: (-one.score, one.row.id))
        hits = [_hit(db, replica, asked, tokenizer, one, explain) for one in kept[:k]]
    shown, over = _within(hits, max_tokens)
    if over:
        notices.append(f"{over} more hits did not fit into max_tokens = {max_tokens}")
    if not kept:
        notices += _where(replica.caller)
    audit.record(replica, "search", [hit.id for hit in shown], query)
    dropped = {"floor": len(scored) - len(kept), "k": max(0, len(kept) - k), "max_tokens": over}
    return SearchAnswer(
        hits=shown,
        mode="hybrid" if meaning else "keyword",
        dropped=dropped if explain or over else None,
        notices=notices,
        took_ms=round((time.perf_counter() - started) * 1000, 2),
    )


def _where(caller: Caller) -> list[str]:
    """What an agent's empty answer was looked for in; the same whether or not more is hidden."""
    if caller.sees_all:
        return []
    mine = f"its own, its sessions' and spaces', user {caller.user_id!r}'s and everyone's rows"
    return [f"looked in what agent {caller.agent_id!r} may see: {mine}"]


def _question(query: str) -> str:
    asked = text.optional_text(query, "query", QUERY_CHARS_MAX)
    if asked is None:
        raise InvalidInput("`query` is empty", hint="say what to look for", field="query")
    return asked


def _engine(replica: Replica, kind: str) -> tuple[Embedder | None, list[str]]:
    """The embedder for a question about memories, or the notice that meaning is off."""
    if kind == "chatlog":
        return None, []
    try:
        embedder = replica.embedder
    except EngineUnavailable as error:
        return None, [f"meaning is off, keywords only: {error}"]
    if embedder is None:
        return None, [f"meaning is off, keywords only: {replica.embedder_reason}"]
    return embedder, []


def _meaning(
    db: Connection, replica: Replica, embedder: Embedder | None, vector: bytes | None
) -> _Meaning | None:
    if embedder is None or vector is None:
        return None
    pool = replica.pools.get(db, replica.caller, embedder.model_id, embedder.dims)
    return _Meaning(pool, vector)


def _kinds(kind: str, wanted: Filter, conversation: str | None) -> list[str]:
    """The row kinds to look in: a filter on the type of memories leaves no turns, and so on."""
    kinds = ["memory", "chatlog"] if kind == "all" else [kind]
    if wanted.type is not None:
        kinds = [name for name in kinds if name != "chatlog"]
    if conversation is not None:
        kinds = [name for name in kinds if name != "memory"]
    return kinds


def _of_kind(
    db: Connection,
    replica: Replica,
    query: Query,
    wanted: Filter,
    kind: str,
    meaning: _Meaning | None,
    conversation: str | None,
) -> list[_Scored]:
    """Candidates of one kind with their scores."""
    caller = replica.caller
    where = wanted.memory_sql(caller) if kind == "memory" else wanted.chatlog_sql(caller)
    if conversation is not None:
        where += " AND t.conversation_id = :conversation"
    params = {**caller.params, **wanted.params, "conversation": conversation}
    source = Source(db, kind, ROW_OF[kind], where, params)
    terms = _frequencies(source, query)
    weights = Weights.of(source.size(), {term.stem: found for term, found in terms.items()})
    rows = [*by_text(source, terms), *source.by_key(_ids(db, replica, query, kind))]
    if meaning is not None:
        rows += source.by_order(
            lambda limit: meaning.pool.best(replica.ranking, meaning.vector, limit)
        )
    found = {row.id: row for row in rows}
    cosines = meaning.pool.cosines(replica.ranking, meaning.vector, list(found)) if meaning else {}
    tokenizer, now = Tokenizer(db), replica.now_ms()
    scored = []
    for key, row in found.items():
        document = _document(row, kind, tokenizer, now)
        contributions = parts(query, tuple(terms), document, weights, cosines.get(key))
        scored.append(_Scored(row, kind, contributions, total(contributions)))
    return scored


def _frequencies(source: Source, query: Query) -> dict[Term, int]:
    """The rarest terms that are there at all, rarest first, and in how many rows each is."""
    found = {term: source.frequency(term) for term in query.terms}
    there = sorted((term for term in found if found[term]), key=lambda term: found[term])
    return {term: found[term] for term in there[:QUERY_TERMS_MAX]}


def _ids(db: Connection, replica: Replica, query: Query, kind: str) -> list[str]:
    seen = can_see(replica.caller, kind)
    return [
        key for given in query.ids for key in matches(db, kind, given, seen, replica.caller.params)
    ]


def _document(row: Any, kind: str, tokenizer: Tokenizer, now_ms: int) -> Document:
    stems = tokenizer.stems
    if kind == "chatlog":
        age = now_ms - (row.said_at or now_ms)
        return Document(row.id, kind, stems(row.content), (), row.content or "", age_ms=age)
    names = [*([row.title] if row.title else []), *text.stored_list(row.aliases)]
    return Document(
        row.id,
        kind,
        stems(row.content),
        tuple(stems(name) for name in names),
        "\n".join([row.content or "", *names]),
        importance=row.importance or 0.0,
        pinned=bool(row.pinned),
        age_ms=now_ms - (row.recorded_at or now_ms),
    )


def _hit(
    db: Connection,
    replica: Replica,
    query: Query,
    tokenizer: Tokenizer,
    one: _Scored,
    explain: bool,
) -> Hit:
    row, now = one.row, replica.now_ms()
    snippet = cut(
        row.content or "",
        {term.stem for term in query.words},
        [term.raw for term in query.literals],
        tokenizer,
    )
    is_turn = one.kind == "chatlog"
    return Hit(
        id=row.id,
        kind=one.kind,
        score=one.score,
        title=row.conversation_id if is_turn else row.title,
        snippet=snippet,
        type=row.role if is_turn else row.type,
        scope=row.scope,
        space=row.space,
        agent_id=row.agent_id,
        valid_from=row.said_at if is_turn else row.valid_from,
        valid_to=None if is_turn else row.valid_to,
        recorded_at=row.said_at if is_turn else row.recorded_at,
        current=True if is_turn else view.is_current(row, now),
        source=row.host_agent if is_turn else row.source,
        turn=neighbours(db, replica.caller, row) if is_turn else None,
        explain=one.parts if explain else None,
    )


def _within(hits: list[Hit], max_tokens: int | None) -> tuple[list[Hit], int]:
    """The best hits that fit the budget, and how many do not."""
    if max_tokens is None:
        return hits, 0
    used = 0
    for number, hit in enumerate(hits):
        turn = hit.turn or {}
        around = sum(len(str(turn.get(name) or "")) for name in ("before", "after"))
        chars = len(hit.title or "") + len(hit.snippet) + around
        used += HIT_OVERHEAD_TOKENS + -(-chars // CHARS_PER_TOKEN)
        if used > max_tokens:
            return hits[:number], len(hits) - number
    return hits, 0


def _notices(
    db: Connection, replica: Replica, query: Query, wanted: Filter, meaning: _Meaning | None
) -> list[str]:
    """What the asker should know beside the hits."""
    found = []
    if not query.terms and meaning is None:
        found.append("the question has no word that can be searched for")
    caller = replica.caller
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
