"""Both engines pack vectors alike, find the same candidates, and refuse the same inputs."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking, choose, native_refusal, pure

needs_native = pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal()))


@pytest.fixture(params=["pure", pytest.param("native", marks=needs_native)])
def ranking(request: pytest.FixtureRequest) -> Ranking:
    return choose(request.param)


HALF_A_NUMBER = "`halves` holds 1 bytes, which is no whole number of rows of 2 float16 numbers"


def packed(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def labels(numbers: list[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[bytes, int]:
    """Rows of any float32 numbers, those that are none included."""
    dims = draw(st.integers(1, 40))
    numbers = st.floats(width=32) | st.sampled_from([0, 1, -1, 1e-40, 3e38])
    rows = draw(st.lists(st.lists(numbers, min_size=dims, max_size=dims), max_size=8))
    return packed([number for row in rows for number in row]), dims


@needs_native
@given(matrices())
def test_native_packs_as_pure_does_bit_for_bit(matrix: tuple[bytes, int]) -> None:
    native = choose("native")
    vectors, dims = matrix
    found = native.to_halves(vectors, dims)
    assert found == pure.to_halves(vectors, dims)
    assert native.to_codes(found[0], dims) == pure.to_codes(found[0], dims)


def test_what_packing_gives(ranking: Ranking) -> None:
    halves, flags = ranking.to_halves(packed([3, 4, 0, 0, math.inf, 1, math.nan, 0]), 2)
    numbers = struct.unpack("<8e", halves)
    assert numbers == pytest.approx((0.6, 0.8, 0, 0, 0, 0, 0, 0), abs=1e-3)
    assert flags == b"\1\1\0\0"
    codes, scales = ranking.to_codes(halves, 2)
    assert struct.unpack("8b", codes) == (95, 127, 0, 0, 0, 0, 0, 0)
    assert struct.unpack("<4f", scales) == pytest.approx((0.8 / 127, 0, 0, 0), abs=1e-5)


@st.composite
def scans(draw: st.DrawFn) -> tuple[Any, ...]:
    """A scan whose numbers are drawn from a seed: many of them, and quickly."""
    source = random.Random(draw(st.integers(0, 2**32)))
    dims, count = draw(st.integers(1, 70)), draw(st.integers(0, 9))
    query = [source.gauss(0, 1) for _ in range(dims)]
    rows = [
        query if source.random() < 0.2 else [source.gauss(0, 1) for _ in range(dims)]
        for _ in range(count)
    ]
    marks = [source.choice((*range(-2, 21), 2**62, -(2**63))) for _ in range(count)]
    halves, _ = pure.to_halves(packed([number for row in rows for number in row]), dims)
    allowed = draw(st.binary(max_size=3))
    k, margin = draw(st.integers(0, 10)), draw(st.sampled_from([0.0, 0.1, 5.0]))
    return halves, dims, packed(query), labels(marks), allowed, k, margin, b"", b""


@needs_native
@given(scans())
def test_native_finds_what_pure_does(scan: tuple[Any, ...]) -> None:
    """Sums in float32 may order near-equal rows differently: those alone may differ."""
    slack = 2e-5
    found, rule = dict(choose("native").scan_halves(*scan)), dict(pure.scan_halves(*scan))
    for row in found.keys() & rule.keys():
        assert found[row] == pytest.approx(rule[row], abs=slack)
    everything = dict(pure.scan_halves(*scan[:5], 100, 5.0, b"", b""))
    k, margin = scan[5:7]
    ordered = sorted(everything.values(), reverse=True)
    last = ordered[k - 1] if 0 < k <= len(ordered) else 0.0
    edges = (last, last - margin, ordered[2 * k - 1] if 0 < 2 * k <= len(ordered) else last)
    for row in found.keys() ^ rule.keys():
        assert any(abs(everything[row] - edge) < slack for edge in edges)
    assert len(found) <= 2 * k
    assert len(found) >= min(k, len(everything))


def test_only_labels_with_a_bit_count_and_equal_ones_come_by_row(ranking: Ranking) -> None:
    dims, count = 3, 40
    halves, _ = ranking.to_halves(packed([1.0, 0, 0] * count), dims)
    marks = labels([row % 10 - 1 for row in range(count)])
    query = packed([2.0, 0, 0])

    def rows(allowed: bytes, k: int = 100) -> list[int]:
        found = ranking.scan_halves(halves, dims, query, marks, allowed, k, 0.0, b"", b"")
        assert all(score == pytest.approx(1.0, abs=1e-3) for _, score in found)
        return [row for row, _ in found]

    assert rows(b"\x01") == [1, 11, 21, 31]
    assert rows(b"\x01\x01") == [1, 9, 11, 19, 21, 29, 31, 39]
    assert rows(b"") == rows(b"\x00\x00") == []
    assert 0 not in rows(b"\xff\xff")
    assert rows(b"\xff\xff", k=2) == [1, 2, 3, 4]
    assert rows(b"\x01", k=0) == []


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"dims": 0}, "`dims` must be 1 or more, got 0"),
        ({"k": -1}, "`k` must be 0 or more, got -1"),
        ({"margin": -0.5}, "`margin` must be 0 or more, got -0.5"),
        ({"halves": b"1"}, HALF_A_NUMBER),
        ({"labels": b""}, "`labels` holds 0 bytes, but 8 were expected"),
        ({"codes": b"1"}, "`codes` holds 1 bytes, but 2 were expected"),
        ({"codes": b"12"}, "`scales` holds 0 bytes, but 4 were expected"),
        ({"query": b"1"}, "`query` holds 1 bytes, but 2 float32 numbers were expected"),
        ({"query": packed([1, math.inf])}, "`query` number 1 is not finite"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_the_same_words(
    ranking: Ranking, changed: dict[str, Any], error: str
) -> None:
    given: dict[str, Any] = {
        "halves": bytes(4), "dims": 2, "query": packed([1, 0]), "labels": labels([0]),
        "allowed": b"\1", "k": 1, "margin": 0.0, "codes": b"", "scales": b"",
    }  # fmt: skip
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared
        ranking.scan_halves(*(given | changed).values())
    assert str(refusal.value) == error


@needs_native
@pytest.mark.parametrize("clustered", [False, True], ids=["random", "clustered"])
def test_the_codes_lose_next_to_nothing(clustered: bool) -> None:
    """Recall of the exact ten through both stages, on as many rows as it takes to have two."""
    native, dims, count = choose("native"), 16, 210_000
    source = random.Random(7)
    centres = [[source.gauss(0, 1) for _ in range(dims)] for _ in range(50)]
    block = []
    for _ in range(3_000):
        centre = source.choice(centres) if clustered else [0.0] * dims
        block.append([number + 0.5 * source.gauss(0, 1) for number in centre])
    # Every copy of the block is turned a little: no two rows are equal.
    vectors = b"".join(
        packed([number + 0.01 * source.random() for number in row])
        for _ in range(count // len(block))
        for row in block
    )
    halves, _ = native.to_halves(vectors, dims)
    codes, scales = native.to_codes(halves, dims)
    zeros = labels([0] * count)
    hits = 0
    for row in range(0, 3_000, 150):
        query = packed([number + 0.1 * source.gauss(0, 1) for number in block[row]])
        exact = native.scan_halves(halves, dims, query, zeros, b"\1", 10, 0.0, b"", b"")
        coded = native.scan_halves(halves, dims, query, zeros, b"\1", 82, 0.0, codes, scales)
        hits += len({row for row, _ in exact[:10]} & {row for row, _ in coded})
    assert hits / 200 >= 0.99
