"""The bytes of a vector file: a header, seven columns of records, the table of owner groups.

| part | bytes | |
|---|---|---|
| header | 4096 | magic, version, what it is of, how much of it counts, CRC-32 of itself |
| rows | 8 · capacity | row number of the memory or turn, -1 when masked |
| sources | 8 · capacity | row number of the embedding or turn vector |
| groups | 8 · capacity | number of the owner group, -1 when masked |
| checks | 4 · capacity | CRC-32 of the record's rows, sources, groups and halves |
| halves | 2 · dims · capacity | the vector: float16, of length one, zeros when masked |
| scales | 4 · capacity | only with codes |
| codes | dims · capacity | int8, for the first pass of a scan over many rows |
| table | `table_bytes` | a JSON line a group, in the order of their numbers |

Numbers are little-endian, as on all machines that satchel runs on; columns start at multiples of
64. Room for records is there from the start (a hole in the file until it is used), so an append
moves nothing. Records that the header does not count are no part of the file.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from satchel.vectors.errors import Damaged

MAGIC = b"SATCHVEC"
VERSION = 1
HEADER_BYTES = 4096
ROW_BYTES = 8
CHECK_BYTES = SCALE_BYTES = 4
HALF_BYTES = 2
MASKED = -1
FIRST_SOURCE = -(1 << 63)
"""Below all sources: what a file without records has had last."""
CODED_FROM = 200_000
"""A file with room for as many records has codes: below, the exact scan is as fast."""

_FIXED = struct.Struct("<8sII16sQQQQqqQIQH")
_CHECK = struct.Struct("<I")
_NAME_BYTES_MAX = HEADER_BYTES - _FIXED.size - _CHECK.size


class Header(NamedTuple):
    """What a file is of, and how much of it counts."""

    replica_id: bytes
    name: str
    """Kind and model id: `memory all-MiniLM-L6-v2@53aa51172d14`."""
    dims: int
    capacity: int
    records: int
    masked: int
    ordered: int
    """So many records from the first on have ascending sources."""
    counter: int
    """`vector_change.seq` of the database that the records equal."""
    last_source: int
    """No record has a larger source."""
    table_bytes: int
    table_check: int
    stamp_ns: int
    """The file's time of modification as long as nobody else has written to it."""

    def pack(self) -> bytes:
        """The header as it stands at the beginning of a file."""
        name = self.name.encode()[:_NAME_BYTES_MAX]
        fixed = _FIXED.pack(
            MAGIC,
            VERSION,
            self.dims,
            self.replica_id,
            self.capacity,
            self.records,
            self.masked,
            self.ordered,
            self.counter,
            self.last_source,
            self.table_bytes,
            self.table_check,
            self.stamp_ns,
            len(name),
        )
        body = (fixed + name).ljust(HEADER_BYTES - _CHECK.size, b"\0")
        return body + _CHECK.pack(zlib.crc32(body))

    @property
    def layout(self) -> Layout:
        """Where the columns are."""
        return Layout.of(self.dims, self.capacity)

    @property
    def end(self) -> int:
        """Bytes that the file has at least."""
        return self.layout.end + self.table_bytes


def read_header(packed: bytes) -> Header:
    """Read a header. Raises Damaged."""
    body = packed[: -_CHECK.size]
    if len(packed) != HEADER_BYTES or packed[: len(MAGIC)] != MAGIC:
        raise Damaged("it does not begin as a vector file does")
    if _CHECK.unpack(packed[-_CHECK.size :])[0] != zlib.crc32(body):
        raise Damaged("its header does not fit its own checksum")
    _, version, dims, replica_id, *counts, name_bytes = _FIXED.unpack_from(body)
    if version != VERSION:
        raise Damaged(f"it is of version {version}, this program writes {VERSION}")
    name = body[_FIXED.size : _FIXED.size + name_bytes].decode()
    return Header(replica_id, name, dims, *counts)


class Layout(NamedTuple):
    """Where each column begins, for so many dims and so much room; `end` is behind the last."""

    rows: int
    sources: int
    groups: int
    checks: int
    halves: int
    scales: int
    codes: int
    end: int
    coded: bool

    @staticmethod
    def of(dims: int, capacity: int) -> Layout:
        """The one layout of a file."""
        coded = capacity >= CODED_FROM
        widths = (ROW_BYTES, ROW_BYTES, ROW_BYTES, CHECK_BYTES, HALF_BYTES * dims)
        ends = [HEADER_BYTES]
        for width in (*widths, SCALE_BYTES * coded, dims * coded):
            ends.append(ends[-1] + -(-width * capacity // 64) * 64)
        rows, sources, groups, checks, halves, scales, codes, end = ends
        return Layout(rows, sources, groups, checks, halves, scales, codes, end, coded)
