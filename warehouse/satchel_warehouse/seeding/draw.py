"""Chance that is the same for the same seed, on every machine and Python; nothing secret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from satchel_sync.digest import text_hash

Item = TypeVar("Item")

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15


class Draw:
    """A stream of numbers by SplitMix64 (Steele, Lea, Flood: Fast Splittable Generators, 2014)."""

    def __init__(self, *names: str | int) -> None:
        """The stream that these names stand for."""
        self._state = int(text_hash("\n".join(map(str, names)))[:16], 16)

    def bits(self) -> int:
        """64 bits."""
        self._state = (self._state + _STEP) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def below(self, count: int) -> int:
        """A whole number from 0 to `count` - 1."""
        return (self.bits() * count) >> 64

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def share(self) -> float:
        """A number from 0 up to, not including, 1."""
        return (self.bits() >> 11) / 2**53

    def chance(self, share: float) -> bool:
        """True as often as `share` says."""
        return self.share() < share

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them, each as likely."""
        return items[self.below(len(items))]

    def early(self, items: Sequence[Item]) -> Item:
        """One of them, the first ones far more often: as agents and words are used."""
        return items[int(len(items) * self.share() ** 2)]

    def data(self, count: int) -> bytes:
        """So many bytes."""
        words = range(-(-count // 8))
        return b"".join([self.bits().to_bytes(8, "big") for _ in words])[:count]

    def normal(self) -> float:
        """About normally distributed, mean 0 and deviation 1: a sum of twelve."""
        return sum([self.share() for _ in range(12)]) - 6.0
