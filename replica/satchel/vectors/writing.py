"""Writing records: appended behind the last, masked in place, counted by the header at the end."""

from __future__ import annotations

import io
import mmap
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from operator import lt
from typing import TYPE_CHECKING, NamedTuple

from satchel.vectors.format import (
    CHECK_BYTES,
    HALF_BYTES,
    MASKED,
    ROW_BYTES,
    SCALE_BYTES,
    Header,
)
from satchel.vectors.groups import Groups, Owner
from satchel.vectors.image import Image, check_of
from satchel_crypto.file_system import HERE

if TYPE_CHECKING:
    from satchel.ranking.contract import Ranking

STAMP_STEP_NS = 1_000
"""Times of modification are whole microseconds, which the usual file systems keep."""
_MASK = struct.pack("<q", MASKED)


class Record(NamedTuple):
    """A vector as it was read from the database: `dims` float32 numbers."""

    source: int
    row: int
    owner: Owner
    vector: bytes


class Full(Exception):
    """There is no room for so many more records."""


class Pen:
    """Writes behind a header. Nothing counts before `finish`, which gives the new header."""

    def __init__(
        self, write: Callable[[int, bytes], object], header: Header, groups: Groups
    ) -> None:
        """`write` puts bytes at an offset; groups that are new join `groups`."""
        self.write, self.header, self.groups = write, header, groups
        self.layout = header.layout

    def append(self, ranking: Ranking, records: Sequence[Record]) -> None:
        """Add records; those with a number that is not finite are left out. Raises Full."""
        dims, width = self.header.dims, HALF_BYTES * self.header.dims
        halves, flags = ranking.to_halves(b"".join(record.vector for record in records), dims)
        kept = [place for place, flag in enumerate(flags) if flag]
        if len(kept) < len(records):
            halves = b"".join(halves[place * width : (place + 1) * width] for place in kept)
        if self.header.records + len(kept) > self.header.capacity:
            raise Full
        if kept:
            self._put([records[place] for place in kept], halves)
            if self.layout.coded:
                self._put_codes(*ranking.to_codes(halves, dims), len(kept))
            self._count([records[place].source for place in kept])

    def _count(self, sources: Sequence[int]) -> None:
        header = self.header
        count, ordered, last = header.records + len(sources), header.ordered, header.last_source
        if ordered == header.records and all(map(lt, (last, *sources), sources)):
            ordered = count
        last = max(last, *sources)
        self.header = header._replace(records=count, ordered=ordered, last_source=last)

    def _put(self, records: Sequence[Record], halves: bytes) -> None:
        first, count, layout = self.header.records, len(records), self.layout
        width = len(halves) // count
        groups = [self.groups.number(record.owner) for record in records]
        checks = [
            check_of(record.row, record.source, group, halves[place : place + width])
            for record, group, place in zip(
                records, groups, range(0, len(halves), width), strict=True
            )
        ]
        columns = (
            (layout.rows, [record.row for record in records]),
            (layout.sources, [record.source for record in records]),
            (layout.groups, groups),
        )
        for begin, numbers in columns:
            self.write(begin + first * ROW_BYTES, struct.pack(f"<{count}q", *numbers))
        self.write(layout.checks + first * CHECK_BYTES, struct.pack(f"<{count}I", *checks))
        self.write(layout.halves + first * width, halves)

    def _put_codes(self, codes: bytes, scales: bytes, count: int) -> None:
        first = self.header.records
        self.write(self.layout.codes + first * len(codes) // count, codes)
        self.write(self.layout.scales + first * SCALE_BYTES, scales)

    def mask(self, records: Iterable[int]) -> None:
        """Take records out; nothing of their vectors is left."""
        layout, dims, masked = self.layout, self.header.dims, self.header.masked
        for record in records:
            self.write(layout.groups + record * ROW_BYTES, _MASK)
            self.write(layout.rows + record * ROW_BYTES, _MASK)
            self.write(layout.halves + record * HALF_BYTES * dims, bytes(HALF_BYTES * dims))
            if layout.coded:
                self.write(layout.codes + record * dims, bytes(dims))
            masked += 1
        self.header = self.header._replace(masked=masked)

    def finish(self, counter: int) -> Header:
        """Write the groups that are new, then the header, under which all of it counts."""
        written, table = self.header.table_bytes, self.groups.table
        if len(table) > written:
            self.write(self.layout.end + written, table[written:])
        self.header = self.header._replace(
            counter=counter,
            table_bytes=len(table),
            table_check=zlib.crc32(table[written:], self.header.table_check),
            stamp_ns=self._stamp_ns(),
        )
        self.write(0, self.header.pack())
        return self.header

    def _stamp_ns(self) -> int:
        """Now; later than the last writer's in any case: some clocks tick 60 times a second."""
        now_ns = time.time_ns() // STAMP_STEP_NS * STAMP_STEP_NS
        return max(now_ns, self.header.stamp_ns + STAMP_STEP_NS)


def into_memory(buffer: mmap.mmap) -> Callable[[int, bytes], object]:
    """Writes into memory, which needs no table: the groups are at hand."""

    def write(offset: int, data: bytes) -> None:
        if offset < len(buffer):
            buffer[offset : offset + len(data)] = data

    return write


def into_image(file: io.FileIO, image: Image) -> Callable[[int, bytes], object]:
    """Writes into a file, and into the image of it where that is a copy and no map."""
    on_disk, in_copy = into_file(file), into_memory(image.buffer)
    if not HERE.maps_hold:
        return on_disk

    def write(offset: int, data: bytes) -> None:
        on_disk(offset, data)
        in_copy(offset, data)

    return write


def into_file(file: io.FileIO) -> Callable[[int, bytes], object]:
    """Writes into a file. Not through a map: on a full disk that would end the process."""

    def write(offset: int, data: bytes) -> None:
        file.seek(offset)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]

    return write
