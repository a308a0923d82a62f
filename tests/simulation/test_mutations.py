"""The model can fail: with a rule of docs/SYNC.md switched off, some story ends badly."""

from __future__ import annotations

import pytest
from simulation.mutations import RARE, Mutation, caught
from simulation.mutations_of_identity import MUTATIONS

STORIES_MAX = 400


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_rule_that_is_off_is_missed(mutation: Mutation) -> None:
    _, why = caught(mutation, STORIES_MAX)
    assert why != ""


def test_rare_mutations_are_ones_of_the_list() -> None:
    assert {mutation.name for mutation in MUTATIONS} >= RARE.keys()
