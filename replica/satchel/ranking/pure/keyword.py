"""Keyword evidence: BM25 without length normalisation, for short, bounded texts."""

from satchel.ranking.contract import BytesLike
from satchel.ranking.pure.checks import LARGEST, check_count, numbers, small_numbers, view
from satchel.ranking.pure.lanes import added


def keyword(counts: BytesLike, candidates: int, idf: BytesLike, k1: float) -> list[float]:
    """Weigh how often each term is in each candidate: see `contract.Ranking`."""
    count_view, idf_view = view("counts", counts), view("idf", idf)
    check_count("candidates", candidates, least=0)
    rarity = small_numbers("idf", idf_view, len(idf_view) // 8)
    terms = len(rarity)
    found: list[int] = numbers("counts", count_view, "I", candidates * terms)
    if not 0 < k1 <= LARGEST:
        raise ValueError(f"`k1` is not a number above 0 and up to {LARGEST}")
    return [
        added(map(_saturated, rarity, found[first : first + terms], [k1] * terms))
        for first in (candidate * terms for candidate in range(candidates))
    ]


def _saturated(rarity: float, count: int, k1: float) -> float:
    """One term's part: the more often it is there, the less another time adds."""
    return rarity * count * (k1 + 1.0) / (count + k1)
