"""Vectors as they lie in memory, mapped or not: columns of records under one header."""

from __future__ import annotations

import mmap
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from satchel.vectors.errors import Damaged
from satchel.vectors.format import (
    CHECK_BYTES,
    HALF_BYTES,
    HEADER_BYTES,
    MASKED,
    ROW_BYTES,
    SCALE_BYTES,
    Header,
)
from satchel.vectors.groups import Groups, Seen

if TYPE_CHECKING:
    from satchel.ranking.contract import Ranking

SOUGHT_ONE_BY_ONE_MAX = 32
_IDS = struct.Struct("<qqq")


class Image:
    """The records that one header counts. What is appended meanwhile is another image's.

    Records that are masked meanwhile vanish from this one too.
    """

    __slots__ = ("buffer", "groups", "header", "layout", "seen")

    def __init__(self, buffer: mmap.mmap, header: Header, groups: Groups, seen: Seen) -> None:
        """`buffer` holds header and columns; `groups` may know later groups, too."""
        self.buffer, self.header, self.groups, self.seen = buffer, header, groups, seen
        self.layout = header.layout

    def under(self, header: Header) -> Image:
        """The same buffer under a newer header."""
        return Image(self.buffer, header, self.groups, self.seen)

    @property
    def rows(self) -> memoryview:
        """Row numbers: labels for a scan."""
        return self._column(self.layout.rows, ROW_BYTES)

    @property
    def owners(self) -> memoryview:
        """Owner groups: labels for a scan."""
        return self._column(self.layout.groups, ROW_BYTES)

    def scan(
        self,
        ranking: Ranking,
        query: bytes,
        labels: memoryview,
        allowed: bytes,
        k: int,
        margin: float,
    ) -> list[tuple[int, float]]:
        """Candidates (record, score) whose label is among the `allowed` bits, best first."""
        dims, layout = self.header.dims, self.layout
        halves = self._column(layout.halves, HALF_BYTES * dims)
        codes = self._column(layout.codes, dims) if layout.coded else b""
        scales = self._column(layout.scales, SCALE_BYTES) if layout.coded else b""
        return ranking.scan_halves(halves, dims, query, labels, allowed, k, margin, codes, scales)

    def named(self, found: Iterable[tuple[int, float]]) -> Iterator[tuple[float, int, int, int]]:
        """(score, record, source, row) of what a scan found."""
        numbers = memoryview(self.buffer).cast("q")
        sources, rows = self.layout.sources // ROW_BYTES, self.layout.rows // ROW_BYTES
        for record, score in found:
            yield score, record, numbers[sources + record], numbers[rows + record]

    def find(self, sources: Iterable[int]) -> list[int]:
        """The records of these sources that are not masked."""
        wanted = {source for source in sources if source <= self.header.last_source}
        if len(wanted) <= SOUGHT_ONE_BY_ONE_MAX:
            found = [record for source in wanted for record in self._find(source)]
        else:
            held = self._numbers(self.layout.sources)
            found = [record for record, source in enumerate(held) if source in wanted]
        return [record for record in found if self._number(self.layout.groups, record) != MASKED]

    def verify(self) -> None:
        """Compare every record that is not masked with its checksum. Raises Damaged."""
        layout, width = self.layout, HALF_BYTES * self.header.dims
        halves = self._column(layout.halves, width)
        ids = zip(*map(self._numbers, (layout.rows, layout.sources, layout.groups)), strict=True)
        checks = struct.unpack(f"<{self.header.records}I", self._column(layout.checks, CHECK_BYTES))
        for record, (row, source, group) in enumerate(ids):
            half = halves[record * width : (record + 1) * width]
            if group != MASKED and check_of(row, source, group, half) != checks[record]:
                raise Damaged(f"its record {record} does not fit its checksum")

    def _find(self, source: int) -> list[int]:
        """By bisection where sources ascend, and by a search for its bytes behind that."""
        begin, ordered = self.layout.sources, self.header.ordered
        sources = memoryview(self.buffer)[begin : begin + ordered * ROW_BYTES].cast("q")
        at = bisect_left(sources, source)
        found = [at] if at < ordered and sources[at] == source else []
        end = begin + self.header.records * ROW_BYTES
        sought = struct.pack("<q", source)
        place = self.buffer.find(sought, begin + ordered * ROW_BYTES, end)
        while place >= 0:
            if (place - begin) % ROW_BYTES == 0:
                found.append((place - begin) // ROW_BYTES)
            place = self.buffer.find(sought, place + 1, end)
        return found

    def _column(self, begin: int, width: int) -> memoryview:
        return memoryview(self.buffer)[begin : begin + width * self.header.records]

    def _number(self, begin: int, record: int) -> int:
        return int(struct.unpack_from("<q", self.buffer, begin + record * ROW_BYTES)[0])

    def _numbers(self, begin: int) -> tuple[int, ...]:
        return struct.unpack(f"<{self.header.records}q", self._column(begin, ROW_BYTES))


def check_of(row: int, source: int, group: int, half: bytes | memoryview) -> int:
    """The checksum of a record."""
    return zlib.crc32(half, zlib.crc32(_IDS.pack(row, source, group)))


def in_memory(header: Header) -> Image:
    """An image outside any file."""
    buffer = mmap.mmap(-1, max(header.layout.end, HEADER_BYTES))
    return Image(buffer, header, Groups(), Seen())
