"""Chunks and records of bundles that nobody should take: bombs, lies and things of no sort."""

from __future__ import annotations

import cbor2
import zstandard
from fix_bundle_files import STAMP

from satchel_sync.bundles.limits import CHUNK_BYTES_MAX

BOMBS = {
    "a gigabyte of zeros": zstandard.ZstdCompressor(level=1).compress(bytes(2**30)),
    "one byte too many": zstandard.ZstdCompressor().compress(bytes(CHUNK_BYTES_MAX + 1)),
    "no size said": zstandard.ZstdCompressor(write_content_size=False).compress(b"abc"),
    "two frames": zstandard.ZstdCompressor().compress(b"abc") * 2,
    "half a frame": zstandard.ZstdCompressor().compress(b"abc" * 100)[:-2],
    "a frame that lies": zstandard.ZstdCompressor().compress(b"abc" * 100)[:5]
    + b"\x10"
    + zstandard.ZstdCompressor().compress(b"abc" * 100)[6:],
    "no frame": b"nothing of the sort",
    "a claim of exabytes": bytes.fromhex("28b52ffde0") + b"\xff" * 7 + b"\x7f" + b"\x00" * 8,
}


def record(*items: object) -> bytes:
    return cbor2.dumps(list(items))


PACKED = STAMP.packed()
VALUES = ["x", 0.5, 1, None]
RECORDS: dict[str, bytes] = {
    "nothing": b"",
    "not CBOR": b"\xff\xff",
    "two items": record("rows", "memory", []) + b"\x00",
    "an unknown sort": record("gifts", []),
    "an unknown kind": record("rows", "nothing", [["k", PACKED, "", []]]),
    "rows that are a map": record("rows", "memory", {}),
    "a row of three": record("rows", "memory", [["k", PACKED, ""]]),
    "an empty key": record("rows", "memory", [["", PACKED, "", VALUES]]),
    "a key of bytes": record("rows", "memory", [[b"k", PACKED, "", VALUES]]),
    "a key with NUL": record("rows", "memory", [["a\0", PACKED, "", VALUES]]),
    "a key without end": record("rows", "memory", [["k" * 2000, PACKED, "", VALUES]]),
    "a version of 39 bytes": record("rows", "memory", [["k", PACKED[:39], "", VALUES]]),
    "a lineage without end": record("rows", "memory", [["k", PACKED, "0" * 9000, VALUES]]),
    "a value too few": record("rows", "memory", [["k", PACKED, "", VALUES[:3]]]),
    "text with NUL": record("rows", "memory", [["k", PACKED, "", ["a\0b", 0.5, 1, None]]]),
    "a number as text": record("rows", "memory", [["k", PACKED, "", [5, 0.5, 1, None]]]),
    "NaN": record("rows", "memory", [["k", PACKED, "", ["x", float("nan"), 1, None]]]),
    "infinity": record("rows", "memory", [["k", PACKED, "", ["x", float("inf"), 1, None]]]),
    "an int of 65 bits": record("rows", "memory", [["k", PACKED, "", ["x", 0.5, 2**63, None]]]),
    "a bignum": record("rows", "memory", [["k", PACKED, "", ["x", 0.5, 2**80, None]]]),
    "true": record("rows", "memory", [["k", PACKED, "", ["x", 0.5, True, None]]]),
    "a list as a value": record("rows", "memory", [["k", PACKED, "", [[], 0.5, 1, None]]]),
    "undefined": record("rows", "memory", [["k", PACKED, "", [cbor2.undefined, 0.5, 1, None]]]),
    "extra as bytes": record("rows", "memory", [["k", PACKED, "", ["x", 0.5, 1, b"{}"]]]),
    "a lone surrogate": b"\x83\x64rows\x66memory\x81\x84\x61k\x58\x28"
    + PACKED
    + b"\x60\x84\x63\xed\xa0\x80\xf6\xf6\xf6",
    "an endless list": b"\x83\x64rows\x66memory\x9f\xff",
    "a list of 2^40": b"\x83\x64rows\x66memory\x9b\x00\x00\x01\x00\x00\x00\x00\x00",
    "a text of 2^40": b"\x83\x64rows\x7b\x00\x00\x01\x00\x00\x00\x00\x00",
    "100000 deep": b"\x81" * 100_000,
    "a regular expression": b"\x83\x64rows\x66memory\x81\xd8\x23\x65(a+)+",
    "a shared reference to itself": b"\xd8\x1c\x81\xd8\x1d\x00",
    "a decimal of 2^31 digits": b"\xc4\x82\x1a\x7f\xff\xff\xff\x01",
    "a receipt of an unknown verdict": record(
        "receipts", "memory", [["k", PACKED, "perhaps", 1, None, "", "", ""]]
    ),
    "a bucket of 256": record("versions", "memory", [256], []),
    "a bucket that is text": record("versions", "memory", ["0"], []),
    "a sequence below 0": record("versions", "memory", [0], [["k", PACKED, -1]]),
    "a loser without a row": record("losers", [["memory", None, PACKED, "pull", 5]]),
}
