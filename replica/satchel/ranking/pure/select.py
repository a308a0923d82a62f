"""Selection: the best of a pool, each as unlike those before it as `diversity` asks."""

import heapq
from collections.abc import Sequence
from functools import cache
from math import sqrt

from satchel.ranking.contract import BytesLike
from satchel.ranking.pure.checks import check_count, check_finite, flags, numbers, view
from satchel.ranking.pure.lanes import dot, rounded


def select(
    scores: Sequence[float],
    keys: Sequence[str],
    eligible: BytesLike,
    vectors: BytesLike,
    dims: int,
    k: int,
    diversity: float,
) -> list[int]:
    """Choose at most `k` of a pool, best first: see `contract.Ranking`."""
    count = len(keys)
    eligible_view, vector_view = view("eligible", eligible), view("vectors", vectors)
    check_count("dims", dims, least=0)
    check_count("k", k, least=0)
    scores = list(scores)
    if len(scores) != count:
        raise ValueError(f"`scores` holds {len(scores)} numbers, but {count} were expected")
    check_finite("scores", scores)
    "".join(keys).encode()  # Raises UnicodeEncodeError for a lone surrogate, as the native one.
    may = flags("eligible", eligible_view, count)
    found: list[float] = numbers("vectors", vector_view, "f", count * dims)
    check_finite("vectors", found)
    if not 0 <= diversity <= 1:
        raise ValueError("`diversity` is not a number from 0 to 1")
    pool = [(scores[index], keys[index], index) for index in range(count) if may[index]]
    return _diverse(pool, _Vectors(found, dims), k, diversity)


def _diverse(
    pool: list[tuple[float, str, int]], vectors: "_Vectors", k: int, diversity: float
) -> list[int]:
    """Maximal marginal relevance (Carbonell and Goldstein, 1998), evaluated lazily.

    A value only falls as more are chosen, so the best of the heap, once it is up to date, is the
    best of all: the others need no look.
    """
    relevance = 1.0 - diversity
    heap = [(-(relevance * score), -score, key, index) for score, key, index in pool]
    heapq.heapify(heap)
    chosen: list[int] = []
    likeness = {index: 0.0 for _, _, index in pool}
    compared = dict.fromkeys(likeness, 0)
    while heap and len(chosen) < k:
        _, minus_score, key, index = heap[0]
        if not diversity or compared[index] == len(chosen):
            heapq.heappop(heap)
            chosen.append(index)
            continue
        other = chosen[compared[index]]
        compared[index] += 1
        likeness[index] = max(likeness[index], vectors.cosine(index, other))
        value = relevance * -minus_score - diversity * likeness[index]
        heapq.heapreplace(heap, (-value, minus_score, key, index))
    return chosen


class _Vectors:
    """Cosines between candidates; one without a vector is like none."""

    def __init__(self, found: list[float], dims: int) -> None:
        self._found = found
        self._dims = dims
        self._norm = cache(self._norm_of)

    def cosine(self, left: int, right: int) -> float:
        norms = self._norm(left) * self._norm(right)
        return rounded(dot(self._row(left), self._row(right)) / norms) if norms else 0.0

    def _row(self, index: int) -> list[float]:
        return self._found[index * self._dims : (index + 1) * self._dims]

    def _norm_of(self, index: int) -> float:
        row = self._row(index)
        return sqrt(dot(row, row))
