"""What each weight of the ranking is worth: the same questions with that weight at 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from quality.desk import Desk
from quality.measure import Filled
from quality.question import Found

from satchel.ranking.recipe import Recipe
from satchel.ranking.weights import RECIPE

DIVERSITY = "diversity"
"""No weight of a signal, but a constant of the recipe that can be 0 too."""
TOGETHER = ("meaning + alone", "asked + session + neighbour + window")
"""Signals that stand in for one another: what they are worth shows when all of them go."""


def names() -> tuple[str, ...]:
    """All that is left out, one after another."""
    return (*RECIPE.names, DIVERSITY, *TOGETHER)


def without(name: str) -> Recipe:
    """The recipe with that at 0; ` + ` joins several. Raises KeyError."""
    recipe = RECIPE
    for one in name.split(" + "):
        recipe = recipe._replace(diversity=0.0) if one == DIVERSITY else recipe.without(one)
    return recipe


@dataclass
class Ablation:
    """Answers by what was left out; `ask` is given to `measure` as `also`."""

    names: Sequence[str] = field(default_factory=names)
    limit: int | None = None
    answers: dict[str, list[Found]] = field(default_factory=dict)

    def ask(self, store: Filled) -> None:
        """Ask every question of a filled store once for each name, then put things back."""
        for name in self.names:
            use(store.desk, without(name))
            self.answers.setdefault(name, []).extend(store.answers(self.limit))
        use(store.desk, RECIPE)


def use(desk: Desk, recipe: Recipe) -> None:
    """Let every replica of the desk rank by this recipe."""
    for replica in desk.replicas.values():
        replica.recipe = recipe
