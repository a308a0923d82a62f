"""How long a search by cosine takes, by engine and by the number of vectors."""

import random
import struct
from typing import Any

import pytest

from satchel.ranking import Ranking, choose, native_refusal

DIMS = 384

native = pytest.param(
    "native",
    marks=pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal())),
)


@pytest.fixture(params=["pure", native])
def ranking(request: pytest.FixtureRequest) -> Ranking:
    return choose(request.param)


@pytest.fixture(scope="module")
def block() -> bytes:
    """Return a thousand vectors, the same in every run."""
    source = random.Random(384)
    return struct.pack(f"<{1000 * DIMS}f", *(source.gauss(0, 1) for _ in range(1000 * DIMS)))


@pytest.mark.parametrize("thousands", [1, 10, 100])
def bench_cosine_top_k(benchmark: Any, ranking: Ranking, block: bytes, thousands: int) -> None:
    if thousands > 10 and ranking is not choose("auto"):
        pytest.skip("this takes the pure engine more than ten seconds a round")
    matrix, query = block * thousands, block[: DIMS * 4]
    found = benchmark.pedantic(ranking.cosine_top_k, (matrix, DIMS, query, 10), rounds=5)
    assert found[0] == (0, 1.0)
