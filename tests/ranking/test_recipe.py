"""The table of weights is whole, and floors and scales do what they say."""

from __future__ import annotations

import pytest

from satchel.ranking.packed import unpack
from satchel.ranking.recipe import Calibration, Floor
from satchel.ranking.weights import CALIBRATED, RECIPE, UNASKED, calibration


def test_every_weight_has_a_reason_and_a_name_of_its_own() -> None:
    assert len(set(RECIPE.names)) == len(RECIPE.names)
    for one in (*RECIPE.signals, *RECIPE.contexts):
        assert one.reason.endswith(".")
    assert all(one.reason.endswith(".") for one in CALIBRATED.values())


def test_arguments_are_those_of_the_table() -> None:
    weights: list[float] = unpack("d", RECIPE.weights)
    assert weights == [one.weight for one in RECIPE.signals]
    roles = zip(RECIPE.core, RECIPE.fact, strict=True)
    expected = {"core": (1, 0), "fact": (0, 1), "extra": (0, 0)}
    assert list(roles) == [expected[one.role] for one in RECIPE.signals]
    assert [one.name for one in RECIPE.contexts] == ["asked", "session", "neighbour", "window"]
    assert RECIPE.adjacency == tuple(one.weight for one in RECIPE.contexts)
    # With a negative weight here, more of a signal would make another row worse.
    assert min(RECIPE.adjacency) >= 0


def test_what_may_lower_a_score_is_known() -> None:
    assert [one.name for one in RECIPE.signals if one.weight < 0] == [
        "question",
        "reaction",
        "falls",
    ]


@pytest.mark.parametrize("name", RECIPE.names)
def test_an_ablation_takes_one_weight_away(name: str) -> None:
    def weights(recipe: object) -> dict[str, float]:
        assert isinstance(recipe, type(RECIPE))
        return {one.name: one.weight for one in (*recipe.signals, *recipe.contexts)}

    assert weights(RECIPE.without(name)) == weights(RECIPE) | {name: 0.0}
    assert RECIPE.without(name).core == RECIPE.core


def test_an_unknown_ablation_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="no signal is called `speeker`: there are meaning"):
        RECIPE.without("speeker")


@pytest.mark.parametrize(
    ("floor", "evidence", "passes"),
    [
        (Floor(best_least=0.0), [0.0, 1e-6, -0.1], [False, True, False]),
        (Floor(best_least=0.5), [0.5, 0.499999, 0.0], [True, True, False]),
        (Floor(best_least=0.5), [0.4, 0.3], [False, False]),
        (Floor(best_least=0.1, of_best=0.6), [0.5, 0.3, 0.299999], [True, True, False]),
        (Floor(best_least=0.4, of_best=0.6), [0.5, 0.299999], [True, False]),
        (Floor(best_least=0.0, of_best=0.6), [], []),
        (Floor(best_least=0.0, of_best=0.6), [-0.5, -0.6], [False, False]),
    ],
)
def test_a_floor_is_absolute_and_relative(
    floor: Floor, evidence: list[float], passes: list[bool]
) -> None:
    assert floor.passes(evidence) == passes


def test_a_scale_maps_a_models_cosines_to_0_and_1() -> None:
    scale = Calibration(
        nothing=0.7,
        all=0.9,
        memory=Floor(best_least=0.4),
        chatlog=Floor(best_least=0.0),
        unasked=UNASKED,
        reason="",
    )
    meanings = [scale.meaning(cosine) for cosine in (-1.0, 0.7, 0.8, 0.9, 1.0)]
    assert meanings == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert (scale.floor("memory").best_least, scale.floor("chatlog").best_least) == (0.4, 0.0)


@pytest.mark.parametrize(
    ("model_id", "key"),
    [
        ("all-MiniLM-L6-v2@53aa51172d14", ""),
        ("multilingual-e5-small@0123456789ab", "e5"),
        ("intfloat_E5_base@e5e5e5e5e5e5", "e5"),
        ("bge-m3@e5-is-only-its-hash", ""),
    ],
)
def test_a_model_is_known_by_a_word_of_its_name(model_id: str, key: str) -> None:
    assert calibration(model_id) is CALIBRATED[key]


def test_without_a_model_a_keyword_is_enough() -> None:
    assert calibration(None).floor("memory").passes([0.01, 0.0]) == [True, False]
