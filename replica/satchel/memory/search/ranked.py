"""Scores and order: the ranking engine under the one table of weights, the floor, the choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from satchel.memory.search.candidates import Candidate
from satchel.memory.search.pool import Pool
from satchel.ranking.packed import pack, unpack
from satchel.ranking.recipe import Calibration, Recipe
from satchel.ranking.weights import calibration

if TYPE_CHECKING:
    from satchel.ranking.contract import Ranking

KINDS: Final[tuple[Literal["memory", "chatlog"], ...]] = ("memory", "chatlog")
ROUNDING = 1e-5


class Ranked(NamedTuple):
    """A candidate with its score, which is the sum of its parts in the order of `names`."""

    candidate: Candidate
    vector: bytes | None
    score: float
    passes: bool
    """Whether its evidence is above the floor."""
    parts: tuple[float, ...]
    names: tuple[str, ...]
    covers: bool = False
    """Whether it has every word of the question."""

    @property
    def shown_parts(self) -> dict[str, float]:
        """What `explain` tells: the parts that are not 0."""
        return {name: part for name, part in zip(self.names, self.parts, strict=True) if part}


def rank(engine: Ranking, recipe: Recipe, scale: Calibration, pool: Pool) -> list[Ranked]:
    """Every candidate with its score, in the order of the pool."""
    rows = pool.rows(recipe)
    around = pool.around
    scores, evidence, parts = engine.fuse(
        pack("d", chain.from_iterable(rows)),
        recipe.weights,
        recipe.core,
        recipe.fact,
        recipe.evidence,
        pack("i", around.previous),
        pack("i", around.following),
        pack("i", around.sessions),
        pack("i", around.places),
        bytes(one.asks for one in pool.candidates),
        recipe.adjacency,
        recipe.reach,
    )
    passes = _passes(scale, pool, evidence)
    names = recipe.names
    width = len(names)
    values = unpack("d", parts)
    return [
        Ranked(one, vector, score, enough, tuple(values[n * width : (n + 1) * width]), names, all_)
        for n, (one, vector, score, enough, all_) in enumerate(
            zip(pool.candidates, pool.vectors, scores, passes, pool.covers, strict=True)
        )
    ]


def contenders(ranked: Sequence[Ranked], k: int, diversity: float) -> list[Ranked]:
    """Those above the floor that can be among the best `k`, whatever their likeness is.

    A value lies between `(1 - d) · score - d` and `(1 - d) · score`: what stays below the worst
    that the k-th best can be needs no vector.
    """
    able = [one for one in ranked if one.passes]
    if len(able) <= k:
        return able
    last = sorted((one.score for one in able), reverse=True)[k - 1]
    least = last - diversity / (1 - diversity) - ROUNDING if diversity < 1 else -math.inf
    return [one for one in able if one.score >= least]


def choose(engine: Ranking, able: Sequence[Ranked], k: int, diversity: float) -> list[Ranked]:
    """The best `k`, none too much like one before it."""
    size = max((len(one.vector) for one in able if one.vector), default=0) if k > 1 else 0
    order = engine.select(
        [one.score for one in able],
        [one.candidate.id for one in able],
        bytes([1]) * len(able),
        b"".join(one.vector or bytes(size) for one in able) if size else b"",
        size // 4,
        k,
        diversity if size else 0.0,
    )
    return [able[n] for n in order]


def _passes(scale: Calibration, pool: Pool, evidence: Sequence[float]) -> list[bool]:
    """Each kind has a floor of its own.

    What has no vector is judged by its words alone, and what has every word of the question passes
    whatever the model makes of it: a name or a number that was looked for means little to a model.
    """
    found = [False] * len(pool.candidates)
    for kind, embedded in product(KINDS, (True, False)):
        places = [
            n
            for n, one in enumerate(pool.candidates)
            if one.kind == kind and (pool.vectors[n] is not None) == embedded
        ]
        floor = (scale if embedded else calibration(None)).floor(kind)
        for n, enough in zip(places, floor.passes(evidence[n] for n in places), strict=True):
            found[n] = enough or (pool.covers[n] and evidence[n] > 0)
    return found
