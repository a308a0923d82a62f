"""The order of additions and the rounding that all engines keep."""

from collections.abc import Iterable, Sequence
from functools import reduce
from math import floor
from operator import add, mul
from typing import Final

LANES: Final = 8


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Sum the products in lanes: number `i` is of lane `i % LANES`, lanes are added in order.

    A product of two float32 numbers is exact in float64, so only the order of the additions
    matters. Several lanes let a compiler use vector registers.
    """
    return added(added(map(mul, left[lane::LANES], right[lane::LANES])) for lane in range(LANES))


def added(numbers: Iterable[float]) -> float:
    """Add from left to right, from 0."""
    # Not `sum`: from Python 3.12 on it compensates rounding errors, which is another order.
    return reduce(add, numbers, 0.0)


def rounded(number: float) -> float:
    """Round to 1e-6, halves up."""
    # Not `round`: these three steps are the same in every language.
    return floor(number * 1e6 + 0.5) / 1e6
