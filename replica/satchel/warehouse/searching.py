"""A search over the memories and turns of all machines, composed from settings.

The warehouse gives candidates, and says how common words are among all its rows; a replica without
a file ranks them as any replica does (ADR 0037).
"""

from __future__ import annotations

import platform
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.memory import text
from satchel.memory.search import search as searching
from satchel.memory.search.filters import Filter
from satchel.memory.search.meaning import embedder_of
from satchel.memory.search.question import understand
from satchel.memory.search.terms import weigh
from satchel.warehouse.corpus import WarehouseCorpus
from satchel.warehouse.dsns import report_dsn
from satchel.warehouse.gathering import Asked, as_json, by_meaning, by_text
from satchel.warehouse.slices import Remembering, embed_turns, fill, give_turn_vectors, slice_of
from satchel_sync.tables import CHATLOG, EMBEDDING, MEMORY, RELATIONSHIP

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.memory.search.search import Request, SearchAnswer
    from satchel.replica import Replica
    from satchel_sync.row import Row
    from satchel_sync.tables import Table
    from satchel_warehouse.search.desk import Desk

TURNS_EMBEDDED_MAX = 16
"""Turns that came lately whose vectors are made for one search: others are judged by words."""
MODES = ("hybrid", "keyword")


class Wanted(NamedTuple):
    """What is asked for; times are UTC ms."""

    query: str
    k: int = 10
    kind: str = "all"
    type: str | None = None
    scope: str | None = None
    spaces: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    as_of: int | None = None
    mode: str = "hybrid"
    explain: bool = False


def search(
    settings: Settings,
    wanted: Wanted,
    *,
    tenant: str | None = None,
    embedder: Embedder | None = None,
) -> dict[str, Any]:
    """Hits of all machines of a tenant, best first, each with the machine that wrote it last.

    Raises InvalidInput, ConfigInvalid without a DSN, WarehouseError's family for who may not.
    """
    started = time.perf_counter()
    text.one_of(wanted.mode, MODES, "mode")
    kinds = _request(wanted, 0).kinds  # bad input opens nothing
    dsn, policy = report_dsn(settings), settings.network_policy()
    from satchel_warehouse.search import desk as desks

    with desks.opened(
        dsn, tenant=tenant, machine=platform.node(), kinds=kinds, policy=policy
    ) as desk:
        answer, origins = _searched(settings, desk, wanted, embedder)
        told = _told(answer, origins, desk.machines())
        if desk.unindexed:
            told["notices"].append(_unindexed(desk.unindexed))
        desk.close([(hit.kind, hit.id) for hit in answer.hits])
    took_ms = round(1000 * (time.perf_counter() - started), 2)
    return told | {"tenant": desk.tenant, "took_ms": took_ms}


def _searched(
    settings: Settings, desk: Desk, wanted: Wanted, embedder: Embedder | None
) -> tuple[SearchAnswer, dict[str, bytes]]:
    """The answer of a slice, and by whom each row of it was written last."""
    request = _request(wanted, desk.now_ms)
    if wanted.mode == "keyword":
        settings = replace(settings, embedding="off")
    elif embedder is None:
        from satchel.embedding.library import embedder_in_use

        embedder = embedder_in_use(settings)
    corpus = WarehouseCorpus(desk)
    with slice_of(settings, corpus, embedder, desk.now_ms) as replica:
        if engine := embedder_of(replica)[0]:
            replica.given_embedder = Remembering(engine)
        rows = _candidates(replica, desk, corpus, request)
        fill(replica, list(rows.items()))
        if engine and CHATLOG in rows:
            turns = [row.key for row in rows[CHATLOG]]
            made = desk.turn_vectors(turns, engine.model_id, engine.dims)
            give_turn_vectors(replica, engine, made)
            embed_turns(replica, engine, TURNS_EMBEDDED_MAX)
        answer = searching.answered(replica, request)
    origins = {row.key: row.stamp.origin for some in rows.values() for row in some}
    return answer, origins


def _request(wanted: Wanted, now_ms: int) -> Request:
    """Checked arguments. Raises InvalidInput."""
    of = Filter.of(
        now_ms,
        type=wanted.type,
        scope=wanted.scope,
        spaces=wanted.spaces,
        agents=wanted.agents,
        as_of=wanted.as_of,
        since=wanted.since,
        until=wanted.until,
    )
    return searching.checked(wanted.query, wanted.k, wanted.kind, of, None, None, wanted.explain)


def _candidates(
    replica: Replica, desk: Desk, corpus: WarehouseCorpus, request: Request
) -> dict[Table, list[Row]]:
    """Rows of the warehouse that may be among the best, with what the ranking reads beside them."""
    embedder, _ = embedder_of(replica)
    with replica.store.read() as db:
        people = corpus.people(db, replica.caller, request.query)
        question = understand(db, people, request.query, request.wanted.moment.asked_at_ms)
        words = {kind: corpus.vocabulary(db, kind, replica.caller) for kind in request.kinds}
        for kind, vocabulary in words.items():
            vocabulary.look_up(question.terms(kind))
        terms = weigh(words, question)
    sizes = {kind: vocabulary.size() for kind, vocabulary in words.items()}
    given = as_json(request.wanted)
    asked = Asked(desk, question, terms.frequencies, sizes, given, request.k)
    found: dict[Table, list[Row]] = {}
    if "memory" in words:
        found |= _memories(asked, replica, embedder)
    if "chatlog" in words:
        ids = _ids(asked, "chatlog", replica, embedder)
        ids = list(dict.fromkeys([*ids, *desk.beside(ids)]))
        found[CHATLOG] = _in_order(desk.rows(CHATLOG, ids), ids)
    return found


def _memories(asked: Asked, replica: Replica, embedder: Embedder | None) -> dict[Table, list[Row]]:
    """Memories, the edges between them, and their vectors."""
    desk, ids = asked.desk, _ids(asked, "memory", replica, embedder)
    found = {
        MEMORY: _in_order(desk.rows(MEMORY, ids), ids),
        RELATIONSHIP: desk.rows(RELATIONSHIP, ids),
    }
    if embedder is not None:
        found[EMBEDDING] = desk.rows(EMBEDDING, ids, embedder.model_id)
    return found


def _ids(asked: Asked, kind: str, replica: Replica, embedder: Embedder | None) -> list[str]:
    """Candidates of every source, the likeliest first."""
    found = by_text(asked, kind)
    if embedder is not None:
        found += by_meaning(asked, kind, replica.ranking, embedder)
    return list(dict.fromkeys(found))


def _in_order(rows: list[Row], ids: list[str]) -> list[Row]:
    """The likeliest last: a slice takes the last that came for the newest, and begins there."""
    place = {key: n for n, key in enumerate(ids)}
    return sorted(rows, key=lambda row: -place[row.key])


def _told(answer: SearchAnswer, origins: dict[str, bytes], hosts: dict[str, str]) -> dict[str, Any]:
    """The answer as `search` gives it, with the machine of each hit."""
    from satchel.tools.answer import jsonable

    told: dict[str, Any] = jsonable(answer)
    for hit in told["hits"]:
        machine = origins[hit["id"]].hex()
        hit |= {"machine": machine, "host": hosts.get(machine)}
    return told


def _unindexed(rows: int) -> str:
    return f"{rows:,} rows are not indexed yet: `satchel warehouse index` makes them found by words"
