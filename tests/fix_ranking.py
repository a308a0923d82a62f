"""Pools for the ranking: drawn ones, packed ones, and the rule in exact rational arithmetic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor
from typing import Any

import pytest
from hypothesis import strategies as st

from satchel.ranking import Ranking, choose, native_refusal
from satchel.ranking.packed import pack, unpack

MICRO = Fraction(1, 10**6)
WHOLE = st.integers(-3, 3).map(float)
ANY_SMALL = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1.0, 5e-7, 1e6, -1e6])


def engine(name: str) -> Ranking:
    """The engine of this name; the test is skipped without a native one, in CI it fails."""
    refusal = native_refusal() if name == "native" else None
    if refusal and os.environ.get("SKIP_NOTHING"):
        pytest.fail(refusal)
    if refusal:
        pytest.skip(refusal)
    return choose(name)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Arguments of `fuse`, unpacked: a row of signals for each candidate, what stands around."""

    signals: list[list[float]]
    weights: list[float]
    core: list[bool]
    fact: list[bool]
    evidence: list[bool]
    previous: list[int]
    following: list[int]
    sessions: list[int]
    places: list[int]
    asks: list[bool]
    adjacency: tuple[float, float, float, float]
    reach: int

    def packed(self) -> tuple[Any, ...]:
        """As `Ranking.fuse` takes them."""
        return (
            pack("d", (number for row in self.signals for number in row)),
            pack("d", self.weights),
            bytes(self.core),
            bytes(self.fact),
            bytes(self.evidence),
            pack("i", self.previous),
            pack("i", self.following),
            pack("i", self.sessions),
            pack("i", self.places),
            bytes(self.asks),
            self.adjacency,
            self.reach,
        )

    def fused(self, ranking: Ranking) -> tuple[list[float], list[float], list[list[float]]]:
        """Scores, evidence, and a row of parts for each candidate."""
        scores, evidence, packed = ranking.fuse(*self.packed())
        parts, width = unpack("d", packed), len(self.core) + 4
        return scores, evidence, [parts[at : at + width] for at in range(0, len(parts), width)]

    def moved(self, order: Sequence[int]) -> Pool:
        """The same candidates in another order: the one at `order[n]` comes to place n."""
        place = {old: new for new, old in enumerate(order)}
        place[-1] = -1
        return replace(
            self,
            signals=[self.signals[old] for old in order],
            previous=[place[self.previous[old]] for old in order],
            following=[place[self.following[old]] for old in order],
            sessions=[self.sessions[old] for old in order],
            places=[self.places[old] for old in order],
            asks=[self.asks[old] for old in order],
        )


def parts_of(whole: int, most: int) -> st.SearchStrategy[float]:
    """Draw a fraction of a power of ten: products of a few of them have no more than six digits."""
    return st.integers(-most, most).map(lambda number: number / whole)


@st.composite
def pools(
    draw: st.DrawFn,
    signals: st.SearchStrategy[float] = ANY_SMALL,
    weights: st.SearchStrategy[float] = ANY_SMALL,
    adjacency: st.SearchStrategy[float] = ANY_SMALL,
    least: int = 0,
) -> Pool:
    """Draw any pool, empty ones and ones without columns included."""
    count, width = draw(st.integers(least, 8)), draw(st.integers(1 if least else 0, 5))
    index = st.integers(-1, count - 1)
    roles = draw(
        st.lists(st.sampled_from(["core", "fact", "extra"]), min_size=width, max_size=width)
    )
    flags = st.booleans()

    def listed(one: st.SearchStrategy[Any], size: int) -> list[Any]:
        return draw(st.lists(one, min_size=size, max_size=size))

    return Pool(
        signals=[listed(signals, width) for _ in range(count)],
        weights=listed(weights, width),
        core=[role == "core" for role in roles],
        fact=[role == "fact" for role in roles],
        evidence=listed(flags, width),
        previous=listed(index, count),
        following=listed(index, count),
        sessions=listed(index, count),
        places=listed(st.integers(0, 6) | st.integers(-(2**31), 2**31 - 1), count),
        asks=listed(flags, count),
        adjacency=draw(st.tuples(adjacency, adjacency, adjacency, adjacency)),
        reach=draw(st.integers(0, 4)),
    )


DECIMAL_POOLS = pools(
    signals=parts_of(100, 150), weights=parts_of(10, 20), adjacency=parts_of(10, 9)
)
"""Pools whose numbers need no rounding, so exact arithmetic gives the very same ones."""


def exact_fuse(pool: Pool) -> tuple[list[float], list[float], list[list[float]]]:
    """The formula of the contract in rational numbers, candidate by candidate."""
    count = len(pool.asks)
    asked_weight, session_weight, neighbour_weight, window_weight = map(_exact, pool.adjacency)
    rows = [
        [_micro(_exact(s) * _exact(w)) for s, w in zip(row, pool.weights, strict=True)]
        for row in pool.signals
    ]

    def own(at: int) -> Fraction:
        return sum((n for n, c in zip(rows[at], pool.core, strict=True) if c), Fraction())

    def asked(at: int) -> Fraction:
        before = pool.previous[at]
        asks = before >= 0 and pool.asks[before]
        return _micro(asked_weight * own(before)) if asks else Fraction()

    def fact(at: int) -> Fraction:
        joined = (n for n, f in zip(rows[at], pool.fact, strict=True) if f)
        return own(at) + sum(joined, Fraction()) + asked(at)

    def peers(at: int) -> list[int]:
        group = pool.sessions[at]
        return [
            other for other in range(count) if other == at or pool.sessions[other] == group >= 0
        ]

    def session(at: int) -> Fraction:
        return max(map(fact, peers(at)))

    def window(at: int) -> Fraction:
        here = pool.places[at]
        return max(
            fact(other) for other in peers(at) if abs(pool.places[other] - here) <= pool.reach
        )

    def neighbour(at: int) -> Fraction:
        beside = [other for other in (pool.previous[at], pool.following[at]) if other >= 0]
        return max(map(own, [at, *beside]))

    parts = [
        [
            *rows[at],
            asked(at),
            _micro(session_weight * session(at)),
            _micro(neighbour_weight * neighbour(at)),
            _micro(window_weight * window(at)),
        ]
        for at in range(count)
    ]
    proof = [
        sum((n for n, e in zip(row, pool.evidence, strict=True) if e), Fraction()) for row in rows
    ]
    scores = [float(sum(row)) for row in parts]
    return scores, list(map(float, proof)), [list(map(float, row)) for row in parts]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Arguments of `select`, unpacked."""

    scores: list[float]
    keys: list[str]
    eligible: list[bool]
    vectors: list[list[float]]
    k: int
    diversity: float

    @property
    def dims(self) -> int:
        """Numbers in a vector."""
        return len(self.vectors[0]) if self.vectors else 0

    def packed(self) -> tuple[Any, ...]:
        """As `Ranking.select` takes them."""
        vectors = pack("f", (number for row in self.vectors for number in row))
        return (
            self.scores,
            self.keys,
            bytes(self.eligible),
            vectors,
            self.dims,
            self.k,
            self.diversity,
        )

    def moved(self, order: Sequence[int]) -> Choice:
        """The same candidates in another order: the one at `order[n]` comes to place n."""
        return replace(
            self,
            scores=[self.scores[old] for old in order],
            keys=[self.keys[old] for old in order],
            eligible=[self.eligible[old] for old in order],
            vectors=[self.vectors[old] for old in order],
        )


@st.composite
def choices(draw: st.DrawFn, numbers: st.SearchStrategy[float] = WHOLE) -> Choice:
    """Draw any choice: ties, twins and zero vectors are likely, keys differ."""
    count, dims = draw(st.integers(0, 9)), draw(st.integers(0, 11))
    vector = st.lists(numbers, min_size=dims, max_size=dims) | st.just([0.0] * dims)
    some = draw(st.lists(vector, min_size=1, max_size=4))
    score = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.000001]) | st.floats(-3, 3)

    def listed(one: st.SearchStrategy[Any], **more: Any) -> list[Any]:
        return draw(st.lists(one, min_size=count, max_size=count, **more))

    return Choice(
        scores=listed(score),
        keys=listed(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), unique=True),
        eligible=listed(st.sampled_from([True, True, True, False])),
        vectors=listed(st.sampled_from(some) | vector),
        k=draw(st.integers(0, 10)),
        diversity=draw(st.sampled_from([0.0, 0.05, 0.5, 0.9, 1.0]) | st.floats(0, 1)),
    )


def naive_select(choice: Choice) -> list[int]:
    """The rule of the contract, every candidate looked at in every step."""
    waiting = [at for at, may in enumerate(choice.eligible) if may]
    chosen: list[int] = []

    def rank(at: int) -> tuple[float, float, str]:
        cosines = (exact_cosine(choice.vectors[at], choice.vectors[other]) for other in chosen)
        likeness = max([0.0, *cosines])
        value = (1.0 - choice.diversity) * choice.scores[at] - choice.diversity * likeness
        return -value, -choice.scores[at], choice.keys[at]

    while waiting and len(chosen) < choice.k:
        chosen.append(min(waiting, key=rank))
        waiting.remove(chosen[-1])
    return chosen


def exact_cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Round the true cosine to 1e-6, halves up; 0 where either vector is all zeros."""

    def dot(one: Sequence[float], other: Sequence[float]) -> Fraction:
        return sum((_exact(a) * _exact(b) for a, b in zip(one, other, strict=True)), Fraction())

    squares = dot(left, left) * dot(right, right)
    if not squares:
        return 0.0
    with localcontext() as context:
        context.prec = 60
        root = (Decimal(squares.numerator) / Decimal(squares.denominator)).sqrt()
    return float(_micro(dot(left, right) / Fraction(root)))


def _exact(number: float) -> Fraction:
    """The decimal number that is meant: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def _micro(number: Fraction) -> Fraction:
    return floor(number / MICRO + Fraction(1, 2)) * MICRO
