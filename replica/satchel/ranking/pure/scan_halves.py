"""The scan of a vector file: rows that a filter allows are scored, the best are candidates."""

import heapq
from math import isfinite, sqrt
from operator import mul
from struct import unpack

from satchel.ranking.contract import BytesLike
from satchel.ranking.pure.checks import check_count, view
from satchel.ranking.pure.halves import HALF_BYTES, half_row, rows_of
from satchel.ranking.pure.lanes import dot
from satchel.ranking.pure.scan import read_query

LABEL_BYTES = 8


def scan_halves(
    halves: BytesLike,
    dims: int,
    query: BytesLike,
    labels: BytesLike,
    allowed: BytesLike,
    k: int,
    margin: float,
    codes: BytesLike,
    scales: BytesLike,
) -> list[tuple[int, float]]:
    """Find candidates among float16 rows: see `contract.Ranking`. The codes are not needed here."""
    check_count("dims", dims, least=1)
    check_count("k", k, least=0)
    if not (isfinite(margin) and margin >= 0):
        raise ValueError(f"`margin` must be 0 or more, got {margin}")
    rows = view("halves", halves)
    count = rows_of("halves", rows, dims, HALF_BYTES, "float16")
    check_size("labels", view("labels", labels), count * LABEL_BYTES)
    if len(view("codes", codes)):
        check_size("codes", view("codes", codes), count * dims)
        check_size("scales", view("scales", scales), count * 4)
    wanted = _of_length_one(read_query(view("query", query), dims))
    bits = view("allowed", allowed)
    scored = [
        (row, sum(map(mul, half_row(rows, dims, row), wanted)))
        for row, label in enumerate(unpack(f"<{count}q", view("labels", labels)))
        if _holds(bits, label)
    ]
    best = heapq.nsmallest(2 * k, scored, key=lambda pair: (-pair[1], pair[0]))
    if len(best) <= k:
        return best
    least = best[k - 1][1] - margin if k else 0.0
    return best[:k] + [pair for pair in best[k:] if pair[1] >= least]


def check_size(name: str, packed: memoryview, expected: int) -> None:
    """Raise ValueError for a buffer of another size."""
    if len(packed) != expected:
        raise ValueError(f"`{name}` holds {len(packed)} bytes, but {expected} were expected")


def _of_length_one(query: list[float]) -> list[float]:
    norm = sqrt(dot(query, query))
    return [number / norm if norm else 0.0 for number in query]


def _holds(bits: memoryview, label: int) -> bool:
    return 0 <= label < 8 * len(bits) and bool(bits[label >> 3] >> (label & 7) & 1)
