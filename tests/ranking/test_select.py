"""Selection: best first, twins apart, ties by key, and never more than was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_ranking import Choice, choices, naive_select
from hypothesis import given
from hypothesis import strategies as st

from satchel.ranking import Ranking

EAST, NORTH, NONE = [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]


def four(**changed: object) -> Choice:
    """Return two twins, another, and one without a vector."""
    choice = Choice(
        scores=[0.9, 0.88, 0.8, 0.7],
        keys=["a", "b", "c", "d"],
        eligible=[True] * 4,
        vectors=[EAST, EAST, NORTH, NONE],
        k=4,
        diversity=0.2,
    )
    return replace(choice, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "order"),
    [
        # 0.8 · 0.88 - 0.2 is below 0.8 · 0.7.
        ({}, [0, 2, 3, 1]),
        ({"diversity": 0.0}, [0, 1, 2, 3]),
        ({"diversity": 1.0}, [0, 2, 3, 1]),
        ({"k": 1}, [0]),
        ({"k": 0}, []),
        ({"k": 99}, [0, 2, 3, 1]),
        ({"eligible": [False, True, True, True]}, [1, 2, 3]),
        ({"eligible": [False] * 4}, []),
        ({"vectors": [[]] * 4}, [0, 1, 2, 3]),
        ({"vectors": [NONE] * 4}, [0, 1, 2, 3]),
        # What points away is no better than what has nothing to do with it.
        ({"vectors": [EAST, [-1.0, 0.0], NORTH, NONE]}, [0, 1, 2, 3]),
        # Equal scores come by key, in the order of code points.
        ({"scores": [0.5] * 4, "vectors": [[]] * 4, "keys": ["é", "z", "\U0001f600", "A"]},
         [3, 1, 0, 2]),
        ({"scores": [0.0, -0.0, 0.0, -0.0], "vectors": [[]] * 4, "keys": ["d", "c", "b", "a"]},
         [3, 2, 1, 0]),
        # Equal values come by score first.
        ({"diversity": 1.0, "vectors": [[]] * 4, "keys": ["d", "c", "b", "a"]}, [0, 1, 2, 3]),
        # Equal keys come as they stand.
        ({"scores": [0.5] * 4, "vectors": [[]] * 4, "keys": ["a"] * 4}, [0, 1, 2, 3]),
        ({"scores": [], "keys": [], "eligible": [], "vectors": []}, []),
    ],
)  # fmt: skip
def test_the_order_is_the_one_of_the_rule(
    ranking: Ranking, changed: dict[str, object], order: list[int]
) -> None:
    assert ranking.select(*four(**changed).packed()) == order


@given(choice=choices())
def test_it_is_the_order_of_a_look_at_everyone(ranking: Ranking, choice: Choice) -> None:
    assert ranking.select(*choice.packed()) == naive_select(choice)


@given(choice=choices(), data=st.data())
def test_the_order_of_the_pool_does_not_matter(
    ranking: Ranking, choice: Choice, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(choice.keys))), "order")
    moved = choice.moved(order)
    expected = [choice.keys[at] for at in ranking.select(*choice.packed())]
    assert [moved.keys[at] for at in ranking.select(*moved.packed())] == expected


@given(choice=choices(), data=st.data())
def test_fewer_are_the_first_of_more(ranking: Ranking, choice: Choice, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, choice.k), "k")
    more = ranking.select(*choice.packed())
    assert ranking.select(*replace(choice, k=k).packed()) == more[:k]
