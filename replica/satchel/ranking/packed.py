"""Numbers as the engines take them: little-endian, back to back."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import Any, Final, Literal

Code = Literal["d", "f", "i", "I"]
NUMBER_NAME: Final[dict[Code, str]] = {"d": "float64", "f": "float32", "i": "int32", "I": "uint32"}
NUMBER_BYTES: Final[dict[Code, int]] = {"d": 8, "f": 4, "i": 4, "I": 4}


def pack(code: Code, numbers: Iterable[float]) -> bytes:
    """Pack numbers of one type; `code` is that of `array`. Raises OverflowError, TypeError."""
    return _little(array(code, numbers)).tobytes()


def unpack(code: Code, packed: bytes | memoryview) -> list[Any]:
    """Read packed numbers. Raises ValueError where the last one is cut short."""
    numbers = array(code)
    numbers.frombytes(packed)
    return _little(numbers).tolist()


def _little(numbers: array[Any]) -> array[Any]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
