"""Search: understand the question, gather candidates, score them all alike, choose, show."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from satchel.errors import InvalidInput
from satchel.memory import audit, layers, text
from satchel.memory.limits import (
    DROPPED_SHOWN_MAX,
    HITS_MAX,
    QUERY_CHARS_MAX,
    UNASKED_TERMS_MAX,
)
from satchel.memory.search import hits, notices, ranked
from satchel.memory.search.filters import Filter
from satchel.memory.search.gather import Gatherer
from satchel.memory.search.hits import Hit
from satchel.memory.search.meaning import begun, embedder_of
from satchel.memory.search.question import understand
from satchel.memory.search.ranked import Ranked
from satchel.memory.search.terms import weigh
from satchel.ranking.weights import calibration

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

KINDS = ("all", "memory", "chatlog")
Kind = Literal["all", "memory", "chatlog"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits, best first; `dropped` tells what was found and left out, by reason."""

    hits: list[Hit]
    mode: Literal["hybrid", "keyword"]
    dropped: dict[str, Any] | None = None
    notices: list[str]
    took_ms: float


class Request(NamedTuple):
    """Checked arguments of a search."""

    query: str
    k: int
    kinds: tuple[str, ...]
    wanted: Filter
    conversation: str | None
    max_tokens: int | None
    explain: bool
    passes: Callable[[Ranked], bool] | None = None
    """A floor of the asker's own in the place of the usual one, for a question that nobody asked:
    its typos are not corrected, and of many words those of both ends count."""


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
    request = checked(query, k, kind, wanted, conversation_id, max_tokens, explain)
    answer = answered(replica, request)
    audit.record(replica, "search", [(hit.kind, hit.id) for hit in answer.hits], recalled=True)
    return replace(answer, took_ms=round((time.perf_counter() - started) * 1000, 2))


def answered(replica: Replica, request: Request) -> SearchAnswer:
    """One snapshot of the store, from the question to the hits; no trace of it is kept yet."""
    caller, engine, recipe = replica.caller, replica.ranking, replica.recipe
    with replica.store.read() as db:
        embedder, told = embedder_of(replica, db)
        scale = calibration(embedder.model_id if embedder else None)
        wanted = request.wanted.settled(db, caller)
        told += notices.of_filters(db, caller, wanted)
        corpus = replica.corpus
        people = corpus.people(db, caller, request.query)
        question = understand(db, people, request.query, wanted.moment.asked_at_ms)
        if request.passes is not None:
            question = question.shortened(UNASKED_TERMS_MAX)
        kinds = [kind for kind in request.kinds if _has_rows(db, kind)]
        with begun(replica, db, embedder if kinds else None, question.meaning) as meaning:
            words = {kind: corpus.vocabulary(db, kind, caller) for kind in kinds}
            terms = weigh(words, question, corrects=request.passes is None)
            gatherer = Gatherer(replica, question, words, terms, meaning, scale, request.k)
            pool = gatherer.gather(db, kinds, wanted, request.conversation)
        scored = ranked.rank(engine, recipe, scale, pool)
        if request.passes is not None:
            scored = [one._replace(passes=request.passes(one)) for one in scored]
        far = layers.farther(db, scored)
        near = [one for one in scored if one.candidate.id not in far]
        able = ranked.contenders(near, request.k, recipe.diversity)
        chosen = ranked.choose(engine, able, request.k, recipe.diversity)
        found = hits.show(db, replica, wanted.moment, terms.all(), chosen, request.explain)
    told += notices.of_words(question.query, terms.stand_ins, embedder is not None)
    shown = hits.within(found, request.max_tokens)
    told += replica.vectors.notices() if embedder else []
    told += notices.of_answer(caller, found, shown, request.max_tokens)
    return SearchAnswer(
        hits=shown,
        mode="hybrid" if embedder else "keyword",
        dropped=_dropped(request, scored, chosen, shown, far),
        notices=told,
        took_ms=0.0,
    )


def checked(
    query: str,
    k: int,
    kind: str,
    wanted: Filter,
    conversation_id: str | None,
    max_tokens: int | None,
    explain: bool,
) -> Request:
    """Arguments of a search as a request. Raises InvalidInput that names the field."""
    asked = text.optional_text(query, "query", QUERY_CHARS_MAX)
    if asked is None:
        raise InvalidInput("`query` is empty", hint="say what to look for", field="query")
    conversation = text.optional_name(conversation_id, "conversation_id")
    return Request(
        query=asked,
        k=text.whole(k, "k", 1, HITS_MAX),
        kinds=_kinds(text.one_of(kind, KINDS, "kind"), wanted, conversation),
        wanted=wanted,
        conversation=conversation,
        max_tokens=text.optional_whole(max_tokens, "max_tokens", 1, 2**31),
        explain=explain,
    )


def _kinds(kind: str, wanted: Filter, conversation: str | None) -> tuple[str, ...]:
    """The row kinds to look in: a filter on the type of memories leaves no turns, and so on."""
    kinds = ("memory", "chatlog") if kind == "all" else (kind,)
    without = {
        *(("chatlog",) if wanted.type is not None else ()),
        *(("memory",) if conversation is not None else ()),
    }
    return tuple(name for name in kinds if name not in without)


def _has_rows(db: Connection, kind: str) -> bool:
    return db.execute(f"SELECT 1 FROM {kind} LIMIT 1").get is not None


def _dropped(
    request: Request,
    scored: Sequence[Ranked],
    chosen: Sequence[Ranked],
    shown: Sequence[Hit],
    far: Collection[str],
) -> dict[str, Any] | None:
    """How many were left out and why; with `explain` also the best of them.

    `far` are the ids of those of which a nearer version was found.
    """
    over = len(chosen) - len(shown)
    if not over and not request.explain:
        return None
    passed = sum(one.passes for one in scored)
    counts = {
        "floor": len(scored) - passed,
        **({"layer": len(far)} if far else {}),
        "k": passed - len(far) - len(chosen),
        "max_tokens": over,
    }
    if not request.explain:
        return counts
    kept = {one.candidate.id for one in chosen[: len(shown)]}
    too_long = {one.candidate.id for one in chosen[len(shown) :]}
    left = sorted(
        (one for one in scored if one.candidate.id not in kept),
        key=lambda one: (-one.score, one.candidate.id),
    )
    rows = [
        {
            "id": one.candidate.id,
            "kind": one.candidate.kind,
            "score": one.score,
            "reason": "max_tokens"
            if one.candidate.id in too_long
            else "layer"
            if one.candidate.id in far
            else "k"
            if one.passes
            else "floor",
            "explain": one.shown_parts,
        }
        for one in left[:DROPPED_SHOWN_MAX]
    ]
    return {**counts, "rows": rows}
