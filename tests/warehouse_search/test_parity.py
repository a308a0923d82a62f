"""The same rows, asked in a machine's replica and at the warehouse: the same hits and order."""

from __future__ import annotations

from typing import Any

import pytest
from fix_hub import HubWorld
from fix_searched import Machines, machines

from satchel.errors import InvalidInput
from satchel.memory import write
from satchel.memory.limits import SESSION_GAP_MS
from satchel.memory.supersede import supersede
from satchel_warehouse.search import making

QUESTIONS = (
    "staging deploy key",
    "kernel panic",
    '"kernel panic" host',
    "What does Anna drink?",
    "when did Anna have tea with Jörg",
    "Göteborg",
    "goteborg elan",
    "kern*",
    "postgrse backups",
    "Projekt Élan",
    "write_timeout_ms prod",
    "東京の会議",
    "what was released in May 2026",
    "the of and",
    "rotate each quarter",
    "quasar",
    "host seven disk full last month",
)
FILTERS: tuple[dict[str, Any], ...] = (
    {"kind": "memory"},
    {"kind": "chatlog"},
    {"type": "fact"},
    {"spaces": ("releases",)},
    {"agents": ("anna",)},
    {"scope": "org", "k": 2},
    {"as_of": 0},
    {"since": 4_000_000_000_000},
    {"until": 1_000},
)


@pytest.fixture(scope="module")
def pair(world: HubWorld, tmp_path_factory: pytest.TempPathFactory) -> Machines:
    return machines(world, tmp_path_factory.mktemp("pair"))


def same(pair: Machines, query: str, **given: Any) -> int:
    """How many hits both have, which must be the same."""
    here, there = pair.here(0, query, **given), pair.there(query, **given)
    assert [key for key, _ in there] == [key for key, _ in here], (query, given)
    assert [s for _, s in there] == pytest.approx([s for _, s in here], abs=2e-3), (query, given)
    return len(here)


@pytest.mark.parametrize("indexed", [False, True])
def test_the_order_is_that_of_a_replica(pair: Machines, indexed: bool) -> None:
    """Before `warehouse index`, with vectors compared one by one, and after it, by HNSW.

    No machine sends the vectors of its turns: until they are made there, turns are found by words.
    """
    if indexed:
        assert pair.index()["notices"] == []
        assert pair.rows("SELECT count(*) > 0 FROM satchel.turn_vector") == [(True,)]
    found = 0
    for query in QUESTIONS:
        found += same(pair, query, kind="all" if indexed else "memory")
        if query in QUESTIONS[::3]:
            found += same(pair, query, mode="keyword")
    for given in FILTERS if indexed else ():
        same(pair, "deploy key backups of Anna in the vault", **given)
    assert found > 25


def test_an_id_whole_or_short_is_found(pair: Machines) -> None:
    (key, _), *_ = pair.here(0, "kernel panic")
    for given in (key, key[:8], key[-10:]):
        assert key in [found for found, _ in pair.there(given)]
        same(pair, given)


def test_what_is_superseded_is_found_where_the_past_is_asked(pair: Machines) -> None:
    with pair.on(0) as replica:
        old = write.write(replica, "The lighthouse opens at nine.", scope="org").id
        supersede(replica, old, "The lighthouse opens at ten.")
    pair.sync(0)
    assert same(pair, "lighthouse opens") == 1
    assert old not in [key for key, _ in pair.there("lighthouse opens")]


def test_a_hit_tells_who_wrote_it_and_where(pair: Machines) -> None:
    hit = pair.search("prefer tea to coffee", kind="memory")["hits"][0]
    ids = [key for (key,) in pair.rows("SELECT encode(replica_id, 'hex') FROM satchel.replica")]
    assert hit["agent_id"] == "anna"
    assert hit["machine"] in ids
    assert hit["host"]


def test_explained_scores_add_up(pair: Machines) -> None:
    hits = pair.search("staging deploy key", explain=True)["hits"]
    assert hits
    for hit in hits:
        assert sum(hit["explain"].values()) == pytest.approx(hit["score"], abs=1e-6)


@pytest.mark.parametrize(
    "given",
    [
        {"query": "  "},
        {"query": "x\0y"},
        {"query": "x", "k": 0},
        {"query": "x", "kind": "task"},
        {"query": "x", "mode": "telepathy"},
        {"query": "x", "scope": "everywhere"},
    ],
)
def test_bad_input_opens_nothing(pair: Machines, given: dict[str, Any]) -> None:
    before = pair.rows("SELECT count(*) FROM satchel.searched")
    with pytest.raises(InvalidInput):
        pair.search(**given)
    assert pair.rows("SELECT count(*) FROM satchel.searched") == before


def test_both_sides_cut_sessions_alike() -> None:
    assert making.SESSION_GAP_MS == SESSION_GAP_MS
