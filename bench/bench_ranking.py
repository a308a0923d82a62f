"""How long a search by cosine takes, by engine and by the number of vectors."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from bench.page import Section

from satchel.ranking import Ranking, choose, native_refusal

DIMS = 384
METHOD = f"""
`cosine_top_k` of ten out of so many random vectors of {DIMS} numbers in one resident block, five
rounds after no warm-up (pytest-benchmark). Both engines give the same answer.
"""

native = pytest.param(
    "native",
    marks=pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal())),
)


@pytest.fixture(scope="module")
def section() -> Iterator[Section]:
    columns = ("engine", "vectors", "min ms", "median ms", "max ms", "vectors/s")
    one = Section("ranking", "Cosine top-k", METHOD, columns)
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
