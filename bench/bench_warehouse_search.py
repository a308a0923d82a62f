"""Search at the warehouse: how fast, how alike to a replica's, what HNSW misses, what it costs."""

from __future__ import annotations

import random
import tempfile
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path
from time import perf_counter

from bench.corpus import Corpus
from bench.measure import COLUMNS, Samples, sampled
from bench.page import Section
from bench.stock import opened, with_vectors
from bench.vector_stock import Vectors
from psycopg import conninfo

from satchel import peers
from satchel.config import Settings
from satchel.memory.search.search import search as in_replica
from satchel.warehouse.searching import Wanted, search
from satchel_warehouse import admin, roles
from satchel_warehouse.search.desk import Desk
from satchel_warehouse.search.desk import opened as at_desk
from satchel_warehouse.search.indexing import index
from satchel_warehouse.serve_embedded import running

HELD = 100_000
TIMES = 100
DIMS = 384
SCORE_ERROR = 1e-3
METHOD = f"""
{HELD:,} memories of one machine (words by Zipf's law, half of each text from one of 200 topics),
each with a vector of {DIMS} numbers around one of 200 centres; {TIMES} questions of one to five
words, k = 10, on one connection each, against a Postgres beside on the same machine. `same order`:
the same hits in the same order as the search in the machine's own replica; `same hits`: the share
of its hits that are there too; `no worse`: questions whose hits have at least its scores in sum, as
the warehouse hands on more candidates than a replica takes.
"""
RECALL_METHOD = f"""
Of the ten memories whose vectors lie nearest to each of {TIMES} questions' by comparing all, how
many HNSW finds (`ef_search` as the doors set it), and how long each takes in the server. Vectors
around centres are like those of texts; random ones are the hardest there are.
"""


@dataclass
class Drawn:
    """An embedder that draws vectors around the stock's centres; of a text always the same."""

    clustered: bool
    dims: int = DIMS
    window: int = 256

    @property
    def model_id(self) -> str:
        return f"drawn-{'centres' if self.clustered else 'random'}@000000000000"

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def embed_documents(self, texts: list[str]) -> list[bytes]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return unit(next(iter(Vectors(self.clustered, seed=sum(text.encode()) + len(text)))))


def unit(vector: bytes) -> bytes:
    """The same vector of length one."""
    numbers = array("f", vector)
    length = hypot(*numbers)
    return array("f", [number / length for number in numbers]).tobytes()


def bench_warehouse_search(home_of: Callable[[int], Path]) -> None:
    home = home_of(HELD)
    columns = ("what", *COLUMNS, "same order", "same hits", "no worse")
    section = Section("warehouse-search", "Search at the warehouse", METHOD, columns)
    recall = Section(
        "warehouse-nearest",
        "Nearest vectors at the warehouse",
        RECALL_METHOD,
        ("vectors", "recall@10", "HNSW p50 ms", "HNSW p95 ms", "all p50 ms", "all p95 ms"),
    )
    with _warehouse() as dsn:
        settings = _granted(dsn, home)
        _timed(section, "push of the memories", lambda: peers.sync_once(settings))
        for clustered in (True, False):
            embedder = Drawn(clustered)
            _give_vectors(home, embedder)
            name = "around centres" if clustered else "random"
            _timed(section, f"push of their vectors ({name})", lambda: peers.sync_once(settings))
            if clustered:
                _compare(section, settings, embedder, "hybrid, no index of vectors", times=10)
            _timed(section, f"`warehouse index` ({name})", lambda: index(dsn))
            _recall(recall, dsn, embedder, name)
            if clustered:
                _compare(section, settings, embedder, "hybrid")
                _compare(section, settings, embedder, "keyword")
    section.write()
    recall.write()


@contextmanager
def _warehouse() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="satchel_bench_") as folder:
        made = {"maintenance_work_mem": "512MB", "shared_buffers": "512MB"}
        with running(Path(folder) / "cluster", settings=made) as (served, _):
            admin.init(str(served.dsn))
            yield str(served.dsn)


def _granted(dsn: str, home: Path) -> Settings:
    made = roles.grant(dsn, "bench")
    return Settings(
        home=home,
        user_id="una",
        durability="process",
        embedding="off",
        warehouse_dsn=conninfo.make_conninfo(dsn, user=made.login),
        warehouse_admin_dsn=dsn,
    )


def _give_vectors(home: Path, embedder: Drawn) -> None:
    drawn = map(unit, Vectors(embedder.clustered, seed=random.Random(1).randrange(1 << 30)))
    with_vectors(home, embedder.model_id, embedder.dims, vectors=drawn)


def _timed(section: Section, what: str, work: Callable[[], object]) -> None:
    began = perf_counter()
    work()
    section.remarks.append(f"{what}: {perf_counter() - began:.1f} s")


def _compare(
    section: Section, settings: Settings, embedder: Drawn, what: str, times: int = TIMES
) -> None:
    mode = "keyword" if what == "keyword" else "hybrid"
    ours = replace(settings, embedding="auto" if mode == "hybrid" else "off")
    asked = Corpus(5)
    questions = [asked.question() for _ in range(times)]
    told: list[list[tuple[str, float]]] = []
    rest = iter(questions)

    def once() -> None:
        found = search(ours, Wanted(next(rest), mode=mode), embedder=embedder)
        told.append([(hit["id"], hit["score"]) for hit in found["hits"]])

    samples = sampled(once, times)
    same = shared = hits = no_worse = 0
    with opened(settings.home, embedding=ours.embedding) as replica:
        replica.given_embedder = embedder
        for question, theirs in zip(questions, told, strict=True):
            mine = [(hit.id, hit.score) for hit in in_replica(replica, question).hits]
            ours_, theirs_ = dict(mine), dict(theirs)
            same += list(ours_) == list(theirs_)
            shared += len(ours_.keys() & theirs_.keys())
            hits += len(mine)
            no_worse += sum(theirs_.values()) >= sum(ours_.values()) - SCORE_ERROR
    shares = (same / times, shared / max(hits, 1), no_worse / times)
    section.add(what, *samples.columns(), *(f"{share:.2f}" for share in shares))
    section.raw[what] = samples.raw()


def _recall(section: Section, dsn: str, embedder: Drawn, name: str) -> None:
    asked = Corpus(7)
    queries = [array("f", embedder.embed_query(asked.question())).tolist() for _ in range(TIMES)]
    with at_desk(dsn, tenant=None, machine=None, kinds=["memory"]) as desk:
        quick, quick_ms = _nearest(desk, embedder.model_id, queries, exact=False)
        whole, whole_ms = _nearest(desk, embedder.model_id, queries, exact=True)
    found = sum(len(set(a) & set(b)) for a, b in zip(quick, whole, strict=True))
    cells = (samples.at(at) for samples in (quick_ms, whole_ms) for at in (50, 95))
    section.add(name, f"{found / (10 * TIMES):.3f}", *(f"{cell:.1f}" for cell in cells))


def _nearest(
    desk: Desk, model: str, queries: list[list[float]], *, exact: bool
) -> tuple[list[list[str]], Samples]:
    rest, found = iter(queries), list[list[str]]()
    given = '{"now": 1900000000000}'

    def once() -> None:
        found.append(desk.nearest("memory", given, model, next(rest), 40, exact=exact)[:10])

    samples = sampled(once, len(queries))
    return found, samples
