"""The version of a row: `(life, hlc, origin, digest)`, a total order in which the larger wins."""

from __future__ import annotations

import struct
from typing import NamedTuple

GENERATION = 1 << 16
"""One step of a life's upper 48 bits: odd = alive, even = deleted."""
ENDS_MAX = GENERATION - 1
"""A life's lower 16 bits count ends and reopens of a task, and stay at this number."""
INT64_MAX = 2**63 - 1
LIFE_MAX = 1 << 62
"""Nobody deletes and restores a row 2^46 times; above a higher life there would be no room left."""
LINEAGE_MAX = 8
"""Versions that a row remembers it builds on, newest first."""
FINISHED = frozenset({"completed", "failed", "cancelled"})
"""Task states that count as an end."""


class Stamp(NamedTuple):
    """One version of a row; compared left to right as the tuple that it is.

    `life` and `hlc` are int64, `origin` the 16 bytes of a replica id, `digest` the first 8 bytes of
    SHA-256 over the canonical row.
    """

    life: int
    hlc: int
    origin: bytes
    digest: bytes

    @property
    def dead(self) -> bool:
        """Whether this version is a tombstone (or scrubbed)."""
        return self == SCRUBBED or (self.life // GENERATION) % 2 == 0

    def hex(self) -> str:
        """80 lower-case hex digits: the entry of a lineage and of `sync_base`."""
        return self.packed().hex()

    def packed(self) -> bytes:
        """40 bytes, big-endian, in the order of comparison."""
        return struct.pack(">qq", self.life, self.hlc) + self.origin + self.digest

    @staticmethod
    def parse(text: str) -> Stamp:
        """Inverse of `hex`. Raises ValueError for anything but 80 hex digits."""
        packed = bytes.fromhex(text)
        if len(packed) != 40:
            raise ValueError(f"a version is 80 hex digits, not {len(text)}")
        life, hlc = struct.unpack(">qq", packed[:16])
        return Stamp(life, hlc, packed[16:32], packed[32:])


SCRUBBED = Stamp(INT64_MAX, INT64_MAX, b"\xff" * 16, b"\xff" * 8)
"""The version of a forgotten row: above all others, the same everywhere, final."""

NOBODY = bytes(16)
"""The origin of a row in the lowest version: the same everywhere, written by no replica."""

CREATED = GENERATION
"""`life` of a row that was just created."""


def next_generation(life: int) -> int:
    """`life` after a delete or a restore; the lower 16 bits are kept."""
    return min(life + GENERATION, INT64_MAX - GENERATION)


def next_end(life: int) -> int:
    """`life` after a task's end, reopening or change of end; the counter saturates."""
    return life if life % GENERATION == ENDS_MAX else life + 1


def crosses_end(old_status: str | None, new_status: str | None) -> bool:
    """Whether a change of status enters, leaves or changes within the finished states."""
    return old_status != new_status and (old_status in FINISHED or new_status in FINISHED)


def lineage_of(text: str | None) -> tuple[str, ...]:
    """The entries of a stored lineage, newest first; each is `Stamp.hex()`."""
    return tuple((text or "").split())


def extend(lineage: str | None, base: Stamp) -> str:
    """`lineage` with `base` as its newest entry, cut to `LINEAGE_MAX` entries (space-separated)."""
    entry = base.hex()
    kept = [other for other in lineage_of(lineage) if other != entry]
    return " ".join([entry, *kept][:LINEAGE_MAX])
