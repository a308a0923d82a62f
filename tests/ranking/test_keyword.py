"""Keyword evidence: BM25 without length, saturating, never less for more."""

from __future__ import annotations

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking
from satchel.ranking.packed import pack

RARITY = st.floats(0, 20)


def test_the_formula(ranking: Ranking) -> None:
    found = ranking.keyword(pack("I", [1, 0, 2, 3, 0, 0]), 3, pack("d", [2.0, 0.5]), 0.8)
    assert found == pytest.approx([2.0, 2 * 2 * 1.8 / 2.8 + 0.5 * 3 * 1.8 / 3.8, 0.0])


def test_no_terms_weigh_nothing_and_no_candidates_are_none(ranking: Ranking) -> None:
    assert ranking.keyword(b"", 3, b"", 0.8) == [0.0, 0.0, 0.0]
    assert ranking.keyword(b"", 0, pack("d", [1.0]), 0.8) == []


@given(
    counts=st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3),
    rarity=st.lists(RARITY, min_size=3, max_size=3),
    k1=st.floats(0.01, 3),
)
def test_it_is_bm25(ranking: Ranking, counts: list[int], rarity: list[float], k1: float) -> None:
    (found,) = ranking.keyword(pack("I", counts), 1, pack("d", rarity), k1)
    terms = zip(counts, rarity, strict=True)
    assert found == pytest.approx(fsum(idf * c * (k1 + 1) / (c + k1) for c, idf in terms))


@given(
    counts=st.lists(st.integers(0, 1_000_000), min_size=4, max_size=4),
    rarity=st.lists(RARITY, min_size=4, max_size=4),
    term=st.integers(0, 3),
    more=st.integers(1, 1_000_000),
)
def test_another_mention_never_weighs_less(
    ranking: Ranking, counts: list[int], rarity: list[float], term: int, more: int
) -> None:
    said_more = [count + more * (at == term) for at, count in enumerate(counts)]
    before, after = ranking.keyword(pack("I", counts + said_more), 2, pack("d", rarity), 0.8)
    assert after >= before
