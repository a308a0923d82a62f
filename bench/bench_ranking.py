"""How long a search by cosine takes, and how long scoring and choosing from a pool take."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
from bench.measure import COLUMNS, in_turn
from bench.page import Section

from satchel.ranking import Ranking, choose, native_refusal
from satchel.ranking.packed import pack
from satchel.ranking.weights import RECIPE

DIMS = 384
COSINES = f"""
`cosine_top_k` of ten out of so many random vectors of {DIMS} numbers in one resident block, five
rounds after no warm-up (pytest-benchmark). Both engines give the same answer.
"""
POOL = f"""
`fuse` and `select` of fifty (diversity {RECIPE.diversity}) from a pool of so many candidates with
{len(RECIPE.signals)} signals and vectors of {DIMS} numbers in twenty clusters, in sessions of ten;
from packed arguments to an order. numpy: the same formula over whole columns, one Gram
matrix in float32, one step of vectors for each choice; all give the same order. Times in ms.
"""
CHOSEN = 50
NO_NUMPY = "it is not installed (it is no part of satchel)"

native = pytest.param(
    "native",
    marks=pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal())),
)


@pytest.fixture(scope="module")
def section() -> Iterator[Section]:
    columns = ("engine", "vectors", "min ms", "median ms", "max ms", "vectors/s")
    one = Section("ranking", "Cosine top-k", COSINES, columns)
    yield one
    one.write()


@pytest.fixture(params=["pure", native])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def block() -> bytes:
    """Return a thousand vectors, the same in every run."""
    source = random.Random(384)
    return struct.pack(f"<{1000 * DIMS}f", *(source.gauss(0, 1) for _ in range(1000 * DIMS)))


@pytest.mark.parametrize("thousands", [1, 10, 100])
def bench_cosine_top_k(
    benchmark: Any, section: Section, engine: str, block: bytes, thousands: int
) -> None:
    ranking: Ranking = choose(engine)  # type: ignore[arg-type]
    if thousands > 10 and engine == "pure":
        pytest.skip("this takes the pure engine more than ten seconds a round")
    matrix, query = block * thousands, block[: DIMS * 4]
    found = benchmark.pedantic(ranking.cosine_top_k, (matrix, DIMS, query, 10), rounds=5)
    assert found[0] == (0, 1.0)
    stats = benchmark.stats.stats
    shown = (f"{value * 1000:.2f}" for value in (stats.min, stats.median, stats.max))
    section.add(engine, f"{thousands * 1000:,}", *shown, f"{thousands * 1000 / stats.median:,.0f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Packed arguments of `fuse` and `select`."""

    signals: bytes
    previous: bytes
    following: bytes
    sessions: bytes
    places: bytes
    asks: bytes
    keys: list[str]
    vectors: bytes

    @staticmethod
    def of(count: int) -> Pool:
        """The same pool in every run."""
        source = random.Random(count)
        centres = [[source.gauss() for _ in range(DIMS)] for _ in range(20)]
        return Pool(
            signals=pack("d", (source.random() for _ in range(count * len(RECIPE.signals)))),
            previous=pack("i", (at - 1 if at % 10 else -1 for at in range(count))),
            following=pack("i", (at + 1 if at % 10 < 9 else -1 for at in range(count))),
            sessions=pack("i", (at // 10 for at in range(count))),
            places=pack("i", (at % 10 * 2 for at in range(count))),
            asks=bytes(source.random() < 0.2 for _ in range(count)),
            keys=[f"{at:032x}" for at in range(count)],
            vectors=pack(
                "f",
                (
                    number + source.gauss() / 2
                    for _ in range(count)
                    for number in source.choice(centres)
                ),
            ),
        )


def by_engine(ranking: Ranking, pool: Pool) -> list[int]:
    """Fuse and select as a search does."""
    table = RECIPE.weights, RECIPE.core, RECIPE.fact, RECIPE.evidence
    around = pool.previous, pool.following, pool.sessions, pool.places, pool.asks
    scores, _, _ = ranking.fuse(pool.signals, *table, *around, RECIPE.adjacency, RECIPE.reach)
    able = b"\1" * len(scores)
    return ranking.select(scores, pool.keys, able, pool.vectors, DIMS, CHOSEN, RECIPE.diversity)


def by_numpy(pool: Pool) -> list[int]:
    """The same rule over whole columns."""
    import numpy as np

    weights = np.frombuffer(RECIPE.weights, "<f8")
    core, fact = (np.frombuffer(flags, bool) for flags in (RECIPE.core, RECIPE.fact))
    parts = np.frombuffer(pool.signals, "<f8").reshape(-1, len(weights)) * weights
    before, after, session, place = (
        np.frombuffer(numbers, "<i4")
        for numbers in (pool.previous, pool.following, pool.sessions, pool.places)
    )
    asked, of_session, beside, within = RECIPE.adjacency
    own = parts[:, core].sum(1)
    own_or_less = np.append(own, -np.inf)
    asks = np.append(np.frombuffer(pool.asks, bool), False)
    question = np.where(asks[before], asked * own_or_less[before], 0.0)
    facts = own + parts[:, fact].sum(1) + question
    best = np.full(len(own), -np.inf)
    np.maximum.at(best, session, facts)
    neighbour = np.maximum(own, np.maximum(own_or_less[before], own_or_less[after]))
    window = facts.copy()
    for step in range(1, RECIPE.reach + 1):  # The pool is in the order of session and place.
        near = (session[step:] == session[:-step]) & (place[step:] - place[:-step] <= RECIPE.reach)
        for to, of in ((window[step:], facts[:-step]), (window[:-step], facts[step:])):
            np.maximum(to, of, out=to, where=near)
    scores = parts.sum(1) + question + of_session * best[session]
    scores += beside * neighbour + within * window

    vectors = np.frombuffer(pool.vectors, "<f4").reshape(-1, DIMS)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    gram = unit @ unit.T
    likeness = np.zeros(len(own))
    relevance = (1 - RECIPE.diversity) * scores
    order: list[int] = []
    for _ in range(CHOSEN):
        chosen = int(np.argmax(relevance - RECIPE.diversity * likeness))
        order.append(chosen)
        relevance[chosen] = -np.inf
        np.maximum(likeness, gram[chosen], out=likeness)
    return order


def bench_pool() -> None:
    """The engines that are here and numpy in turn; the pure one alone, it takes so much longer."""
    section = Section("pool", "Fusion and selection", POOL, ("engine", "candidates", *COLUMNS))
    missing = {"native": native_refusal(), "numpy": None if find_spec("numpy") else NO_NUMPY}
    section.remarks += [f"no {name}: {reason}" for name, reason in missing.items() if reason]
    for count in (150, 1000):
        pool = Pool.of(count)
        works: dict[str, Callable[[], list[int]]] = {}
        if not missing["native"]:
            works["native"] = partial(by_engine, choose("native"), pool)
        if not missing["numpy"]:
            works["numpy"] = partial(by_numpy, pool)
        pure = partial(by_engine, choose("pure"), pool)
        expected = pure()
        assert all(work() == expected for work in works.values())
        for name, found in (in_turn(works, 200) | in_turn({"pure": pure}, 5)).items():
            section.add(name, f"{count:,}", *found.columns())
    section.write()
