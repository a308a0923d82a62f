"""The native engine gives what the pure one gives, bit for bit, and refuses in the same words."""

from __future__ import annotations

import random
from math import inf, nan
from typing import Any

import pytest
from fix_ranking import Choice, Pool, choices, pools
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking, pure
from satchel.ranking.packed import pack

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0])


@given(pool=pools())
def test_fuse(native: Ranking, pool: Pool) -> None:
    assert repr(native.fuse(*pool.packed())) == repr(pure.fuse(*pool.packed()))


@given(choice=choices(FLOAT32))
def test_select(native: Ranking, choice: Choice) -> None:
    assert native.select(*choice.packed()) == pure.select(*choice.packed())


@given(
    terms=st.lists(st.floats(-1e6, 1e6), max_size=5),
    k1=st.floats(0, 1e6, exclude_min=True),
    data=st.data(),
)
def test_keyword(native: Ranking, terms: list[float], k1: float, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 2**32 - 1), min_size=len(terms), max_size=len(terms))
    rows = data.draw(st.lists(row, max_size=6), "counts")
    given_ = pack("I", (count for row in rows for count in row)), len(rows), pack("d", terms), k1
    assert repr(native.keyword(*given_)) == repr(pure.keyword(*given_))


def test_select_at_the_size_of_a_search(native: Ranking) -> None:
    """Rows of 384 numbers in twenty clusters, so that likeness decides."""
    count, dims, source = 150, 384, random.Random(150)
    centres = [[source.gauss() for _ in range(dims)] for _ in range(20)]
    vectors = [
        number + source.gauss() / 2 for _ in range(count) for number in source.choice(centres)
    ]
    scores = [1 - at / 300 for at in range(count)]
    keys = [f"{at:03}" for at in range(count)]
    given_ = scores, keys, bytes([1]) * count, pack("f", vectors), dims, 50
    for diversity in (0.05, 0.5):
        found = native.select(*given_, diversity)
        assert found == pure.select(*given_, diversity)
        assert found != list(range(50))


LARGE = "is not a number from -1000000 to 1000000"
FUSE: dict[str, Any] = {
    "signals": pack("d", [0.1, 0.2, 0.3, 0.4]),
    "weights": pack("d", [1.0, 0.5]),
    "core": b"\1\0",
    "fact": b"\0\1",
    "evidence": b"\1\1",
    "previous": pack("i", [-1, 0]),
    "following": pack("i", [1, -1]),
    "sessions": pack("i", [0, 1]),
    "places": pack("i", [7, 8]),
    "asks": b"\0\1",
    "adjacency": (0.3, 0.5, 0.3, 0.3),
    "reach": 3,
}
SELECT: dict[str, Any] = {
    "scores": [0.5, 0.4],
    "keys": ["a", "b"],
    "eligible": b"\1\1",
    "vectors": pack("f", [1, 0, 0, 1]),
    "dims": 2,
    "k": 2,
    "diversity": 0.1,
}
KEYWORD: dict[str, Any] = {
    "counts": pack("I", [1, 2, 3, 4]),
    "candidates": 2,
    "idf": pack("d", [1.0, 2.0]),
    "k1": 0.8,
}
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("fuse", FUSE, {"signals": bytes(31)},
     "`signals` holds 31 bytes, but 4 float64 numbers were expected"),
    ("fuse", FUSE, {"signals": bytes(40)},
     "`signals` holds 40 bytes, but 4 float64 numbers were expected"),
    ("fuse", FUSE, {"signals": pack("d", [0, 0, nan, 0])}, f"`signals` number 2 {LARGE}"),
    ("fuse", FUSE, {"signals": pack("d", [0, -inf, nan, 0])}, f"`signals` number 1 {LARGE}"),
    ("fuse", FUSE, {"signals": pack("d", [1000000.1, 0, 0, 0])}, f"`signals` number 0 {LARGE}"),
    ("fuse", FUSE, {"weights": bytes(8)},
     "`weights` holds 8 bytes, but 2 float64 numbers were expected"),
    ("fuse", FUSE, {"weights": pack("d", [1, inf])}, f"`weights` number 1 {LARGE}"),
    ("fuse", FUSE, {"core": b"\1"},
     "`signals` holds 32 bytes, but 2 float64 numbers were expected"),
    ("fuse", FUSE, {"core": b"\0\2"}, "`core` flag 1 is 2, which is neither 0 nor 1"),
    ("fuse", FUSE, {"fact": b""}, "`fact` holds 0 bytes, but 2 flags were expected"),
    ("fuse", FUSE, {"fact": b"\1\1"}, "column 0 is both core and fact"),
    ("fuse", FUSE, {"evidence": b"\0\xff"}, "`evidence` flag 1 is 255, which is neither 0 nor 1"),
    ("fuse", FUSE, {"previous": pack("i", [-1, 2])},
     "`previous` number 1 is 2, which is neither -1 nor below 2"),
    ("fuse", FUSE, {"previous": bytes(7)},
     "`previous` holds 7 bytes, but 2 int32 numbers were expected"),
    ("fuse", FUSE, {"following": pack("i", [-2, 0])},
     "`following` number 0 is -2, which is neither -1 nor below 2"),
    ("fuse", FUSE, {"sessions": pack("i", [0, 2**31 - 1])},
     "`sessions` number 1 is 2147483647, which is neither -1 nor below 2"),
    ("fuse", FUSE, {"sessions": b""},
     "`sessions` holds 0 bytes, but 2 int32 numbers were expected"),
    ("fuse", FUSE, {"asks": b"\0\3"}, "`asks` flag 1 is 3, which is neither 0 nor 1"),
    ("fuse", FUSE, {"adjacency": (0.3, nan, 0.3, 0.3)}, f"`adjacency` number 1 {LARGE}"),
    ("fuse", FUSE, {"places": bytes(4)},
     "`places` holds 4 bytes, but 2 int32 numbers were expected"),
    ("fuse", FUSE, {"reach": -1}, "`reach` must be 0 or more, got -1"),
    ("select", SELECT, {"scores": [0.5]}, "`scores` holds 1 numbers, but 2 were expected"),
    ("select", SELECT, {"scores": [0.5, inf]}, "`scores` number 1 is not finite"),
    ("select", SELECT, {"scores": [1.7e308, 1.7e308, nan], "keys": ["a", "b", "c"]},
     "`scores` number 2 is not finite"),
    ("select", SELECT, {"eligible": b"\1"}, "`eligible` holds 1 bytes, but 2 flags were expected"),
    ("select", SELECT, {"eligible": b"\1\2"}, "`eligible` flag 1 is 2, which is neither 0 nor 1"),
    ("select", SELECT, {"vectors": bytes(12)},
     "`vectors` holds 12 bytes, but 4 float32 numbers were expected"),
    ("select", SELECT, {"vectors": pack("f", [1, 0, -inf, inf])},
     "`vectors` number 2 is not finite"),
    ("select", SELECT, {"dims": -1}, "`dims` must be 0 or more, got -1"),
    ("select", SELECT, {"dims": 0},
     "`vectors` holds 16 bytes, but 0 float32 numbers were expected"),
    ("select", SELECT, {"k": -1}, "`k` must be 0 or more, got -1"),
    ("select", SELECT, {"diversity": 1.01}, "`diversity` is not a number from 0 to 1"),
    ("select", SELECT, {"diversity": -0.01}, "`diversity` is not a number from 0 to 1"),
    ("select", SELECT, {"diversity": nan}, "`diversity` is not a number from 0 to 1"),
    ("keyword", KEYWORD, {"candidates": -1}, "`candidates` must be 0 or more, got -1"),
    ("keyword", KEYWORD, {"candidates": 3},
     "`counts` holds 16 bytes, but 6 uint32 numbers were expected"),
    ("keyword", KEYWORD, {"idf": bytes(15)},
     "`idf` holds 15 bytes, but 1 float64 numbers were expected"),
    ("keyword", KEYWORD, {"idf": pack("d", [nan, 1])}, f"`idf` number 0 {LARGE}"),
    ("keyword", KEYWORD, {"k1": 0.0}, "`k1` is not a number above 0 and up to 1000000"),
    ("keyword", KEYWORD, {"k1": nan}, "`k1` is not a number above 0 and up to 1000000"),
    ("keyword", KEYWORD, {"k1": inf}, "`k1` is not a number above 0 and up to 1000000"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "good", "bad", "error"), REFUSED, ids=lambda value: str(value)[:50]
)
def test_bad_input_is_refused_in_the_same_words(
    ranking: Ranking, name: str, good: dict[str, Any], bad: dict[str, Any], error: str
) -> None:
    function = getattr(ranking, name)
    function(**good)
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared
        function(**good | bad)
    assert str(refusal.value) == error


@pytest.mark.parametrize(
    ("name", "good", "argument"),
    [
        *(("fuse", FUSE, name) for name in FUSE if isinstance(FUSE[name], bytes)),
        ("select", SELECT, "eligible"),
        ("select", SELECT, "vectors"),
        ("keyword", KEYWORD, "counts"),
        ("keyword", KEYWORD, "idf"),
    ],
)
def test_what_is_no_run_of_bytes_is_refused(
    ranking: Ranking, name: str, good: dict[str, Any], argument: str
) -> None:
    function = getattr(ranking, name)
    run = bytes(good[argument])
    gaps = memoryview(bytes(2 * len(run)))[::2]
    signed = memoryview(run).cast("b")
    for buffer in (gaps, signed):
        with pytest.raises(BufferError):
            function(**good | {argument: buffer})
    with pytest.raises(TypeError):
        function(**good | {argument: "text"})
    assert function(**good | {argument: memoryview(b"x" + run)[1:]}) == function(**good)


def test_a_lone_surrogate_in_a_key_is_refused(ranking: Ranking) -> None:
    with pytest.raises(UnicodeEncodeError):
        ranking.select(**SELECT | {"keys": ["a", "\ud800"]})
