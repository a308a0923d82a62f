"""The pool of one search: all candidates, what each of them shows, what stands around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from satchel.memory.search.candidates import Candidate
from satchel.memory.search.context import Around
from satchel.ranking.recipe import Recipe


class Pool(NamedTuple):
    """`columns` has a list for every signal; all are in the order of the candidates."""

    candidates: Sequence[Candidate]
    vectors: Sequence[bytes | None]
    """Of the best chunk; what was just written may have none yet."""
    covers: Sequence[bool]
    """Whether it has every word of the question."""
    columns: Mapping[str, Sequence[float]]
    around: Around

    def rows(self, recipe: Recipe) -> Iterator[tuple[float, ...]]:
        """The signals of each candidate, in the order of the recipe."""
        return zip(*(self.columns[one.name] for one in recipe.signals), strict=True)
