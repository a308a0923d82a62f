"""Ranking in plain Python: the readable rule that every other engine must equal, bit for bit."""

import heapq
import sys
from array import array
from collections.abc import Iterable
from functools import reduce
from math import floor, isfinite, sqrt
from operator import add, mul
from typing import Final

from satchel.ranking.contract import CONTRACT, BytesLike

__all__ = ["CONTRACT", "cosine_top_k"]

LANES: Final = 8
NUMBER_BYTES: Final = 4


def cosine_top_k(matrix: BytesLike, dims: int, query: BytesLike, k: int) -> list[tuple[int, float]]:
    """Find the `k` rows of `matrix` most similar to `query` by cosine: see `contract.Ranking`."""
    _check_count("dims", dims, least=1)
    _check_count("k", k, least=0)
    matrix_bytes = _bytes("matrix", matrix)
    wanted = _read_query(_bytes("query", query), dims)
    scores = _score_rows(matrix_bytes, wanted)
    return heapq.nsmallest(k, enumerate(scores), key=lambda pair: (-pair[1], pair[0]))


def _read_query(query: memoryview, dims: int) -> list[float]:
    if len(query) != dims * NUMBER_BYTES:
        raise ValueError(
            f"`query` holds {len(query)} bytes, but {dims} float32 numbers were expected"
        )
    numbers = _numbers(query)
    for index, number in enumerate(numbers):
        if not isfinite(number):
            raise ValueError(f"`query` number {index} is not finite")
    return numbers


def _score_rows(matrix: memoryview, wanted: list[float]) -> list[float]:
    dims = len(wanted)
    row_bytes = dims * NUMBER_BYTES
    if len(matrix) % row_bytes:
        raise ValueError(
            f"`matrix` holds {len(matrix)} bytes, which is no whole number of rows of "
            f"{dims} float32 numbers"
        )
    wanted_norm = sqrt(_dot(wanted, wanted))
    scores = []
    for row, start in enumerate(range(0, len(matrix), row_bytes)):
        numbers = _numbers(matrix[start : start + row_bytes])
        squares = _dot(numbers, numbers)
        # Squares of finite float32 numbers can't overflow a float64, so this sees every bad number.
        if not isfinite(squares):
            raise ValueError(f"`matrix` row {row} holds a number that is not finite")
        norms = wanted_norm * sqrt(squares)
        scores.append(_rounded(_dot(numbers, wanted) / norms) if norms else 0.0)
    return scores


def _dot(left: list[float], right: list[float]) -> float:
    """Sum the products in lanes: number `i` is of lane `i % LANES`, lanes are added in order.

    A product of two float32 numbers is exact in float64, so only the order of the additions
    matters. Several lanes let a compiler use vector registers.
    """
    return _sum(_sum(map(mul, left[lane::LANES], right[lane::LANES])) for lane in range(LANES))


def _sum(numbers: Iterable[float]) -> float:
    # Not `sum`: from Python 3.12 on it compensates rounding errors, which is another order.
    return reduce(add, numbers, 0.0)


def _rounded(score: float) -> float:
    # Not `round`: these three steps are the same in every language.
    return floor(score * 1e6 + 0.5) / 1e6


def _numbers(packed: memoryview) -> list[float]:
    numbers = array("f")
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def _bytes(name: str, value: BytesLike) -> memoryview:
    view = memoryview(value)
    if view.format != "B" or not view.c_contiguous:
        raise BufferError(f"`{name}` must be one contiguous run of bytes")
    return view.cast("B")


def _check_count(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"`{name}` must be {least} or more, got {value}")
