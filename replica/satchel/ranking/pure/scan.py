"""The exact scan: every row of a packed matrix is scored, the best are returned."""

import heapq
from math import isfinite, sqrt
from typing import Final

from satchel.ranking.contract import BytesLike
from satchel.ranking.packed import unpack
from satchel.ranking.pure.checks import check_count, numbers, view
from satchel.ranking.pure.lanes import dot, rounded

NUMBER_BYTES: Final = 4


def cosine_top_k(matrix: BytesLike, dims: int, query: BytesLike, k: int) -> list[tuple[int, float]]:
    """Find the `k` rows of `matrix` most similar to `query` by cosine: see `contract.Ranking`."""
    check_count("dims", dims, least=1)
    check_count("k", k, least=0)
    matrix_bytes = view("matrix", matrix)
    wanted = read_query(view("query", query), dims)
    scores = _score_rows(matrix_bytes, wanted)
    return heapq.nsmallest(k, enumerate(scores), key=lambda pair: (-pair[1], pair[0]))


def read_query(query: memoryview, dims: int) -> list[float]:
    """Read a question's vector. Raises ValueError when a number is not finite."""
    found: list[float] = numbers("query", query, "f", dims)
    for index, number in enumerate(found):
        if not isfinite(number):
            raise ValueError(f"`query` number {index} is not finite")
    return found


def _score_rows(matrix: memoryview, wanted: list[float]) -> list[float]:
    dims = len(wanted)
    row_bytes = dims * NUMBER_BYTES
    if len(matrix) % row_bytes:
        raise ValueError(
            f"`matrix` holds {len(matrix)} bytes, which is no whole number of rows of "
            f"{dims} float32 numbers"
        )
    wanted_norm = sqrt(dot(wanted, wanted))
    scores = []
    for row, start in enumerate(range(0, len(matrix), row_bytes)):
        found: list[float] = unpack("f", matrix[start : start + row_bytes])
        squares = dot(found, found)
        # Squares of finite float32 numbers can't overflow a float64, so this sees every bad number.
        if not isfinite(squares):
            raise ValueError(f"`matrix` row {row} holds a number that is not finite")
        norms = wanted_norm * sqrt(squares)
        scores.append(rounded(dot(found, wanted) / norms) if norms else 0.0)
    return scores
