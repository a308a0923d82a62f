"""Both ranking engines keep the golden vectors, refuse the same inputs, and agree bit for bit."""

import json
import math
import mmap
import struct
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking, choose, native_refusal, pure

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "vectors" / "ranking" / "cosine_top_k.json").read_text()
)

needs_native = pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal()))


@pytest.fixture(params=["pure", pytest.param("native", marks=needs_native)])
def ranking(request: pytest.FixtureRequest) -> Ranking:
    return choose(request.param)


def packed(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_golden_vectors_hold(ranking: Ranking, case: dict[str, Any]) -> None:
    matrix = packed([number for row in case["matrix"] for number in row])
    found = ranking.cosine_top_k(matrix, case["dims"], packed(case["query"]), case["k"])
    assert [list(pair) for pair in found] == case["expected"]
    assert all(isinstance(pair, tuple) for pair in found)


@pytest.mark.parametrize("case", GOLDEN["refused"], ids=lambda case: case["name"])
def test_wrong_sizes_are_refused_in_the_same_words(ranking: Ranking, case: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared
        ranking.cosine_top_k(
            bytes(case["matrix_bytes"]), case["dims"], bytes(case["query_bytes"]), 1
        )
    assert str(refusal.value) == case["error"]


@pytest.mark.parametrize(
    ("matrix", "dims", "query", "k", "error"),
    [
        (b"", -3, b"", 1, "`dims` must be 1 or more, got -3"),
        (b"", 1, packed([1]), -1, "`k` must be 0 or more, got -1"),
        (b"", 2, packed([1, math.nan]), 1, "`query` number 1 is not finite"),
        (b"", 2, packed([-math.inf, math.nan]), 1, "`query` number 0 is not finite"),
        (
            packed([1, math.inf]),
            1,
            packed([1]),
            1,
            "`matrix` row 1 holds a number that is not finite",
        ),
    ],
)
def test_bad_numbers_are_refused_in_the_same_words(
    ranking: Ranking, matrix: bytes, dims: int, query: bytes, k: int, error: str
) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared
        ranking.cosine_top_k(matrix, dims, query, k)
    assert str(refusal.value) == error


def test_every_kind_of_buffer_is_read_where_it_lies(ranking: Ranking) -> None:
    query, matrix = packed([1, 0]), packed([0, 1, 1, 0])
    expected = [(1, 1.0), (0, 0.0)]
    unaligned = memoryview(b"x" + matrix)[1:]
    with tempfile.TemporaryFile() as file:
        file.write(matrix)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for buffer in (matrix, bytearray(matrix), memoryview(matrix), unaligned, mapped):
                assert ranking.cosine_top_k(buffer, 2, query, 2) == expected


def test_what_is_no_run_of_bytes_is_refused(ranking: Ranking) -> None:
    query = packed([1.0])
    gaps: Any = memoryview(bytes(16))[::2]
    floats: Any = memoryview(bytes(16)).cast("f")
    for matrix in (gaps, floats):
        with pytest.raises(BufferError):
            ranking.cosine_top_k(matrix, 1, query, 1)
    with pytest.raises(TypeError):
        ranking.cosine_top_k("text", 1, query, 1)  # type: ignore[arg-type]


@st.composite
def scans(draw: st.DrawFn) -> tuple[bytes, int, bytes, int]:
    """Draw a matrix, its dims, a query and k: near-equal rows, zeros and huge ranges included."""
    dims = draw(st.integers(1, 40))
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from(
        [0, 1, -1]
    )
    vectors = st.lists(numbers, min_size=dims, max_size=dims)
    query = draw(vectors)
    rows = draw(st.lists(vectors | st.just(query), max_size=12))
    k = draw(st.integers(0, 14))
    return packed([number for row in rows for number in row]), dims, packed(query), k


@needs_native
@given(scans())
def test_native_equals_pure_bit_for_bit(scan: tuple[bytes, int, bytes, int]) -> None:
    native_found = choose("native").cosine_top_k(*scan)
    assert repr(native_found) == repr(pure.cosine_top_k(*scan))


@needs_native
def test_native_equals_pure_on_rows_shared_among_threads() -> None:
    dims, rows = 384, 6_000
    block = packed([math.sin(number * number) for number in range(dims * 50)])
    matrix, query = block * (rows // 50), block[: dims * 4]
    found = choose("native").cosine_top_k(matrix, dims, query, 150)
    # Every row of the block comes 120 times: two distinct rows fill 150 places, in row order.
    best = pure.cosine_top_k(block, dims, query, 2)
    expected = [(row + 50 * copy, score) for row, score in best for copy in range(rows // 50)]
    assert found == expected[:150]


@needs_native
def test_native_lets_other_threads_run_meanwhile() -> None:
    matrix, query = bytes(4 * 384 * 60_000), bytes(4 * 384)

    def moments_in_the_middle_of_a_scan() -> list[float]:
        """Return the moments at which this thread ran in the middle half of another's scan."""
        span: list[float] = []

        def scan() -> None:
            start = time.perf_counter()
            choose("native").cosine_top_k(matrix, 384, query, 5)
            span.extend((start, time.perf_counter()))

        thread = threading.Thread(target=scan)
        thread.start()
        moments = []
        while thread.is_alive():
            moments.append(time.perf_counter())
            time.sleep(0.0005)
        thread.join()
        quarter = (span[1] - span[0]) / 4
        return [moment for moment in moments if quarter < moment - span[0] < 3 * quarter]

    # With the GIL held there is never such a moment; a busy machine may miss it once or twice.
    assert any(moments_in_the_middle_of_a_scan() for _ in range(20))
