"""Vectors in few bytes: float16 of length one, and int8 codes of those."""

from array import array
from math import floor, isfinite, sqrt
from struct import pack, unpack
from typing import Final

from satchel.ranking.contract import BytesLike
from satchel.ranking.packed import pack as pack_numbers
from satchel.ranking.packed import unpack as unpack_numbers
from satchel.ranking.pure.checks import check_count, view
from satchel.ranking.pure.lanes import dot

HALF_BYTES: Final = 2
SINGLE_BYTES: Final = 4
CODE_MAX: Final = 127


def to_halves(vectors: BytesLike, dims: int) -> tuple[bytes, bytes]:
    """Bring float32 vectors to length one and round them to float16: see `contract.Ranking`."""
    check_count("dims", dims, least=1)
    seen = view("vectors", vectors)
    row_bytes = dims * SINGLE_BYTES
    count = rows_of("vectors", seen, dims, SINGLE_BYTES, "float32")
    found, flags = bytearray(), bytearray()
    for row in range(count):
        numbers: list[float] = unpack_numbers("f", seen[row * row_bytes : (row + 1) * row_bytes])
        squares = dot(numbers, numbers)
        flags.append(isfinite(squares))
        norm = sqrt(squares) if isfinite(squares) else 0.0
        # By way of float32, as a processor rounds: twice rounded is another number now and then.
        singles = array("f", [number / norm if norm else 0.0 for number in numbers])
        found += pack(f"<{dims}e", *singles)
    return bytes(found), bytes(flags)


def to_codes(halves: BytesLike, dims: int) -> tuple[bytes, bytes]:
    """Write float16 rows as int8 with a scale a row: see `contract.Ranking`."""
    check_count("dims", dims, least=1)
    seen = view("halves", halves)
    codes = array("b")
    scales: list[float] = []
    for row in range(rows_of("halves", seen, dims, HALF_BYTES, "float16")):
        numbers = half_row(seen, dims, row)
        largest = max(map(abs, numbers))
        scales.append(largest / CODE_MAX)
        codes.extend(
            floor(number * CODE_MAX / largest + 0.5) if largest else 0 for number in numbers
        )
    return codes.tobytes(), pack_numbers("f", scales)


def half_row(halves: memoryview, dims: int, row: int) -> tuple[float, ...]:
    """The float16 numbers of a row."""
    start = row * dims * HALF_BYTES
    return unpack(f"<{dims}e", halves[start : start + dims * HALF_BYTES])


def rows_of(name: str, packed: memoryview, dims: int, number_bytes: int, number: str) -> int:
    """How many rows there are. Raises ValueError where the last one is cut short."""
    if len(packed) % (dims * number_bytes):
        raise ValueError(
            f"`{name}` holds {len(packed)} bytes, which is no whole number of rows of "
            f"{dims} {number} numbers"
        )
    return len(packed) // (dims * number_bytes)
