"""Canonical bytes of a row, its 8-byte digest, and the summands of a digest check.

The one place outside `satchel_crypto` that may hash: a content digest, no security rests on it.
The hub computes the same in SQL for rows that others write; shared vectors hold the two equal.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256

from satchel_sync.stamp import Stamp
from satchel_sync.tables.kinds import Table, Value

BUCKETS = 256
MASK = 2**64 - 1


def _hash(data: bytes) -> bytes:
    return sha256(data, usedforsecurity=False).digest()


def framed(data: bytes) -> bytes:
    """`data` behind its length as a big-endian uint32."""
    return struct.pack(">I", len(data)) + data


def value_bytes(tag: str, value: Value) -> bytes:
    """Canonical bytes of one non-NULL value; -0.0 counts as 0.0. Raises TypeError on a mismatch."""
    match tag, value:
        case "t", str():
            return value.encode()
        case "i", int():
            return struct.pack(">q", value)
        case "r", float() | int():
            return struct.pack(">d", float(value) + 0.0)
        case "b", bytes():
            return value
    raise TypeError(f"a value tagged {tag!r} cannot be {type(value).__name__}")


def value_of(tag: str, data: bytes) -> Value:
    """Inverse of `value_bytes`. Raises ValueError for an unknown tag or a wrong length."""
    try:
        match tag:
            case "t":
                return data.decode()
            case "i":
                return int(struct.unpack(">q", data)[0])
            case "r":
                return float(struct.unpack(">d", data)[0])
            case "b":
                return data
    except struct.error as error:
        raise ValueError(f"{len(data)} bytes do not fit the tag {tag!r}") from error
    raise ValueError(f"unknown type tag {tag!r}")


def parse_extra(extra: str | None) -> dict[str, tuple[str, bytes]]:
    """Columns that this side does not know: `{"name": "tag:hex"}` -> name: (tag, bytes).

    Raises ValueError when the text is not of that form.
    """
    if not extra:
        return {}
    found: dict[str, tuple[str, bytes]] = {}
    for name, packed in json.loads(extra).items():
        tag, _, digits = packed.partition(":")
        found[name] = (tag, bytes.fromhex(digits))
    return found


def format_extra(columns: dict[str, tuple[str, bytes]]) -> str | None:
    """Inverse of `parse_extra`: names sorted, no white space; None when there is nothing."""
    if not columns:
        return None
    packed = {name: f"{tag}:{data.hex()}" for name, (tag, data) in sorted(columns.items())}
    return json.dumps(packed, ensure_ascii=False, separators=(",", ":"))


def canonical(table: Table, key: str, values: Sequence[Value]) -> bytes:
    """The bytes that a digest is taken over.

    `values` are the data columns in the table's order with `extra` last. Kind and key come first,
    then each non-NULL column in name order: name, tag, value; every part behind its length.
    """
    parts = {
        column.name: (column.tag, value_bytes(column.tag, value))
        for column, value in zip(table.columns, values[:-1], strict=True)
        if value is not None
    }
    extra = values[-1]
    if isinstance(extra, str):
        parts.update(parse_extra(extra))
    body = [framed(table.name.encode()), framed(key.encode())]
    for name in sorted(parts, key=str.encode):
        tag, data = parts[name]
        body += [framed(name.encode()), tag.encode(), framed(data)]
    return b"".join(body)


def row_digest(table: Table, key: str, values: Sequence[Value]) -> bytes:
    """First 8 bytes of SHA-256 over `canonical`."""
    return _hash(canonical(table, key, values))[:8]


def derived_id(*fields: str | int) -> str:
    """A UUIDv8 (RFC 9562) from the first 16 bytes of SHA-256 over length-prefixed fields."""
    digest = bytearray(_hash(b"".join(framed(str(field).encode()) for field in fields))[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    digits = digest.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def text_hash(text: str) -> str:
    """A content hash: the SHA-256 of UTF-8 text as 64 hex digits."""
    return _hash(text.encode()).hex()


def audit_link(before: bytes, body: str) -> bytes:
    """The link of an audit record behind one with the link `before`; 32 bytes.

    As `satchel_crypto.audit_record.link_of` makes it: here for the hub in memory, which is only a
    model, and proves nothing to anybody.
    """
    return _hash(b"satchel audit\0" + before + body.encode())


def bucket_of(kind: str, key: str) -> int:
    """The bucket (0..255) in which a digest check counts this row."""
    return _hash(framed(kind.encode()) + framed(key.encode()))[0]


def summand(kind: str, key: str, stamp: Stamp) -> int:
    """What this version adds to its bucket's sum (mod 2^64)."""
    data = framed(kind.encode()) + framed(key.encode()) + stamp.packed()
    return int.from_bytes(_hash(data)[:8], "big")


def sums(kind: str, versions: Iterable[tuple[str, Stamp]]) -> dict[int, tuple[int, int]]:
    """Bucket -> (rows, sum mod 2^64) over (key, stamp) pairs; empty buckets are absent."""
    frame = framed(kind.encode())
    counts, totals = [0] * BUCKETS, [0] * BUCKETS
    for key, stamp in versions:
        name = frame + framed(key.encode())
        bucket = _hash(name)[0]
        counts[bucket] += 1
        totals[bucket] += int.from_bytes(_hash(name + stamp.packed())[:8], "big")
    return {at: (counts[at], totals[at] & MASK) for at in range(BUCKETS) if counts[at]}
