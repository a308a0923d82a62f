"""Fusion: the formula of the contract, what it explains, and what may not change it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_ranking import DECIMAL_POOLS, Pool, exact_fuse, pools
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking
from satchel.ranking.weights import RECIPE


def talk(**changed: object) -> Pool:
    """Return three turns of a session and a lone one: meaning, speaker, importance."""
    pool = Pool(
        signals=[[0.5, 1, 0], [0.2, 0, 0], [0.1, 0, 1], [0.5, 0, 0]],
        weights=[1, 0.2, 0.1],
        core=[True, False, False],
        fact=[False, True, False],
        evidence=[True, False, False],
        previous=[-1, 0, 1, -1],
        following=[1, 2, -1, -1],
        sessions=[0, 0, 0, -1],
        places=[10, 11, 12, 11],
        asks=[True, False, False, False],
        adjacency=(0.3, 0.5, 0.4, 0.1),
        reach=1,
    )
    return replace(pool, **changed)  # type: ignore[arg-type]


def test_every_part_of_a_score_is_told(ranking: Ranking) -> None:
    scores, evidence, parts = talk().fused(ranking)
    assert parts == [
        # meaning, speaker, importance, asked, session, neighbour, window
        [0.5, 0.2, 0.0, 0.0, 0.35, 0.2, 0.07],
        [0.2, 0.0, 0.0, 0.15, 0.35, 0.2, 0.07],
        [0.1, 0.0, 0.1, 0.0, 0.35, 0.08, 0.035],
        [0.5, 0.0, 0.0, 0.0, 0.25, 0.2, 0.05],
    ]
    assert scores == [1.32, 0.97, 0.665, 1.0]
    assert evidence == [0.5, 0.2, 0.1, 0.5]


def test_what_is_alone_scores_as_the_best_of_a_session_of_its_own(ranking: Ranking) -> None:
    scores, _, _ = talk(
        signals=[[0.5, 1, 0], [0, 0, 0], [0, 0, 0], [0.5, 1, 0]], asks=[False] * 4
    ).fused(ranking)
    assert scores[0] == scores[3] > scores[1]


def test_an_empty_pool_and_one_without_columns(ranking: Ranking) -> None:
    empty = talk(signals=[], previous=[], following=[], sessions=[], places=[], asks=[])
    assert empty.fused(ranking) == ([], [], [])
    bare = talk(signals=[[]] * 4, weights=[], core=[], fact=[], evidence=[])
    assert bare.fused(ranking) == ([0.0] * 4, [0.0] * 4, [[0.0] * 4] * 4)


@pytest.mark.parametrize(
    ("signal", "part"),
    [(5e-7, 1e-6), (4.9e-7, 0.0), (-5e-7, 0.0), (-5.1e-7, -1e-6), (-0.0, 0.0)],
)
def test_parts_are_rounded_to_a_millionth_halves_up(
    ranking: Ranking, signal: float, part: float
) -> None:
    _, _, parts = talk(signals=[[signal, 0, 0]] * 4, adjacency=(0, 0, 0, 0)).fused(ranking)
    assert repr(parts[0][0]) == repr(part)


@pytest.mark.parametrize(
    ("reach", "windows"),
    [
        (0, [0.07, 0.035, 0.01, 0.05]),
        (1, [0.07, 0.07, 0.035, 0.05]),
        (2, [0.07, 0.07, 0.07, 0.05]),
        (2**40, [0.07, 0.07, 0.07, 0.05]),
    ],
)
@pytest.mark.parametrize("places", [[10, 11, 12, 11], [-2, -3, -4, -2]])
def test_a_window_reaches_so_far_in_its_session(
    ranking: Ranking, reach: int, windows: list[float], places: list[int]
) -> None:
    _, _, parts = talk(reach=reach, places=places).fused(ranking)
    assert [row[-1] for row in parts] == windows


def test_places_at_both_ends_of_the_numbers_are_far_apart(ranking: Ranking) -> None:
    _, _, parts = talk(places=[-(2**31), 2**31 - 1, 0, 0]).fused(ranking)
    assert [row[-1] for row in parts] == [0.07, 0.035, 0.01, 0.05]


@given(pool=DECIMAL_POOLS)
def test_scores_are_those_of_exact_arithmetic(ranking: Ranking, pool: Pool) -> None:
    assert pool.fused(ranking) == exact_fuse(pool)


@given(pool=pools(signals=st.floats(-1, 2), weights=st.floats(-1, 2), adjacency=st.floats(0, 1)))
def test_parts_sum_to_the_score(ranking: Ranking, pool: Pool) -> None:
    scores, _, parts = pool.fused(ranking)
    for score, row in zip(scores, parts, strict=True):
        assert score == pytest.approx(sum(row), rel=0, abs=6e-7)


@given(
    pool=pools(
        signals=st.floats(0, 2), weights=st.floats(0, 3), adjacency=st.floats(0, 1), least=1
    ),
    data=st.data(),
)
def test_more_of_a_signal_lowers_no_score(
    ranking: Ranking, pool: Pool, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(pool.asks) - 1), "candidate")
    column = data.draw(st.integers(0, len(pool.core) - 1), "column")
    more = [list(row) for row in pool.signals]
    more[at][column] += data.draw(st.floats(0, 2), "more")
    before, proof_before, _ = pool.fused(ranking)
    after, proof_after, _ = replace(pool, signals=more).fused(ranking)
    assert all(new >= old for old, new in zip(before, after, strict=True))
    assert all(new >= old for old, new in zip(proof_before, proof_after, strict=True))


@given(pool=pools(), data=st.data())
def test_the_order_of_the_pool_changes_no_number(
    ranking: Ranking, pool: Pool, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(pool.asks))), "order")
    scores, evidence, parts = pool.fused(ranking)
    expected = [(scores[old], evidence[old], parts[old]) for old in order]
    assert list(zip(*pool.moved(order).fused(ranking), strict=True)) == expected


def test_the_recipe_fits_the_engine(ranking: Ranking) -> None:
    row = [0.0] * len(RECIPE.signals)
    row[RECIPE.names.index("meaning")], row[RECIPE.names.index("title")] = 0.4, 1.0
    pool = talk(
        signals=[row],
        weights=[one.weight for one in RECIPE.signals],
        core=list(map(bool, RECIPE.core)),
        fact=list(map(bool, RECIPE.fact)),
        evidence=list(map(bool, RECIPE.evidence)),
        previous=[-1],
        following=[-1],
        sessions=[-1],
        places=[0],
        asks=[False],
        adjacency=RECIPE.adjacency,
        reach=RECIPE.reach,
    )
    _, (evidence,), (parts,) = pool.fused(ranking)
    assert len(parts) == len(RECIPE.names)
    told = dict(zip(RECIPE.names, parts, strict=True))
    assert evidence == pytest.approx(told["meaning"] + told["title"])
