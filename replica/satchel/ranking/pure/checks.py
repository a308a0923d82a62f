"""What an argument must be; the wording is shared with the crates of the native engine."""

from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

from satchel.ranking.contract import BytesLike
from satchel.ranking.packed import NUMBER_BYTES, NUMBER_NAME, Code, unpack

LARGEST: Final = 1_000_000
"""Signals and weights are small; below this no sum or product of them can overflow."""


def view(name: str, value: BytesLike) -> memoryview:
    """Look at a buffer as bytes. Raises BufferError when it is not one run of them."""
    seen = memoryview(value)
    if seen.format not in ("B", "c") or not seen.c_contiguous:
        raise BufferError(f"`{name}` must be one contiguous run of bytes")
    return seen.cast("B")


def check_count(name: str, value: int, least: int) -> None:
    """Raise ValueError when a count is below what it may be."""
    if value < least:
        raise ValueError(f"`{name}` must be {least} or more, got {value}")


def numbers(name: str, packed: memoryview, code: Code, count: int) -> list[Any]:
    """Read `count` numbers. Raises ValueError when there are fewer or more of them."""
    if len(packed) != count * NUMBER_BYTES[code]:
        raise ValueError(
            f"`{name}` holds {len(packed)} bytes, but {count} {NUMBER_NAME[code]} numbers were"
            " expected"
        )
    return unpack(code, packed)


def small_numbers(name: str, packed: memoryview, count: int) -> list[float]:
    """Read `count` float64 numbers. Raises ValueError when one is huge or not a number."""
    found: list[float] = numbers(name, packed, "d", count)
    check_small(name, found)
    return found


def check_small(name: str, found: Iterable[float]) -> None:
    """Raise ValueError for a number that is beyond LARGEST or not a number."""
    for index, number in enumerate(found):
        if not -LARGEST <= number <= LARGEST:
            raise ValueError(
                f"`{name}` number {index} is not a number from -{LARGEST} to {LARGEST}"
            )


def check_finite(name: str, found: list[float]) -> None:
    """Raise ValueError for an infinity or what is not a number."""
    # A sum of finite float32 numbers is finite: it saves the look at each. One that is not may
    # still be a sum of finite float64 numbers.
    if isfinite(sum(found)):
        return
    for index, number in enumerate(found):
        if not isfinite(number):
            raise ValueError(f"`{name}` number {index} is not finite")


def indexes(name: str, packed: memoryview, count: int) -> list[int]:
    """Read `count` indexes of a pool of as many, -1 for none. Raises ValueError for others."""
    found: list[int] = numbers(name, packed, "i", count)
    for place, index in enumerate(found):
        if not -1 <= index < count:
            raise ValueError(
                f"`{name}` number {place} is {index}, which is neither -1 nor below {count}"
            )
    return found


def flags(name: str, packed: memoryview, count: int) -> list[bool]:
    """Read `count` flags of one byte. Raises ValueError for what is neither 0 nor 1."""
    if len(packed) != count:
        raise ValueError(f"`{name}` holds {len(packed)} bytes, but {count} flags were expected")
    for index, flag in enumerate(packed):
        if flag > 1:
            raise ValueError(f"`{name}` flag {index} is {flag}, which is neither 0 nor 1")
    return [bool(flag) for flag in packed]
