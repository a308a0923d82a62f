"""Parcels of every sort, and bundles that a stranger made with care."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import cbor2
import zstandard
from fix_bundles import BUNDLE_ID, MADE_AT_MS, bundle_of, manifest_of

from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.header import FORMAT, HEADER_BYTES
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX
from satchel_sync.bundles.parcel import (
    Entry,
    Head,
    Losers,
    Parcel,
    ParcelKind,
    Part,
    Receipt,
    Receipts,
    Rows,
    Verdict,
    Versions,
)
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import signed
from satchel_sync.changes import Loser, Row, Version
from satchel_sync.stamp import Stamp

A, HUB = b"\x0a" * 16, b"\x0b" * 16
COLUMNS = {
    "memory": {"content": "t", "importance": "r", "pinned": "i"},
    "embedding": {"vector": "b"},
}
STAMP = Stamp(65536, 1 << 40, A, b"12345678")


def head(kind: ParcelKind = ParcelKind.PUSH, **more: object) -> Head:
    """A head with every field set."""
    ends = (A, HUB) if kind is ParcelKind.PUSH else (HUB, A)
    given = {
        "kind": kind,
        "sender": ends[0],
        "recipient": ends[1],
        "epoch": "e" * 16,
        "base": {"memory": 7},
        "reach": {"memory": 9},
        "token": "t" * 32,
        "after": "s" * 32,
        "predecessors": (b"\x0c" * 16,),
        "last_attempt": "l" * 32,
        "reconcile": "moved",
        "protocol": 2,
        "schema": 1,
        "columns": COLUMNS,
        "host": "höst",
        "version": "0.1",
    }
    return Head(**(given | more))  # type: ignore[arg-type]


def row(key: str = "k", content: str | None = "ünï🙂", **more: object) -> Row:
    values = (content, more.get("importance", 0.5), more.get("pinned", -(2**63)), None)
    return Row(key, STAMP, STAMP.hex(), values)  # type: ignore[arg-type]


PUSH: list[Part] = [
    Rows("memory", (row(), row("gone", None))),
    Rows("embedding", (Row("e", STAMP, "", (b"\x00\xff", '{"x":"t:00"}')),)),
    Losers((Loser("memory", row("lost"), STAMP, "pull", MADE_AT_MS),)),
]
BACK: list[Part] = [
    Receipts(
        "memory",
        (
            Receipt("k", STAMP, Verdict.ACCEPTED, 5),
            Receipt("l", STAMP, Verdict.SUPERSEDED, 5, Version(STAMP, STAMP.hex())),
            Receipt("m", STAMP, Verdict.REFUSED, 5, None, "invalid", "why"),
            Receipt("n", STAMP, Verdict.JOURNALED, 0),
        ),
    )
]
ENTRIES: list[Part] = [
    Versions("memory", (0, 255), (Entry("k", STAMP, 2**63 - 1),)),
    Versions("embedding", (3,), ()),
]
PARCELS = {
    "push": Parcel(head(), PUSH),
    "pull": Parcel(head(ParcelKind.PULL), [*BACK, PUSH[0]]),
    "ack": Parcel(head(ParcelKind.ACK), BACK),
    "manifest": Parcel(head(ParcelKind.MANIFEST), [*BACK, *ENTRIES]),
    "empty": Parcel(head(base={}, reach={}, predecessors=(), recipient=b""), []),
}


def forged(
    chunks: list[bytes], *, change: Callable[[dict[str, object]], object] = lambda manifest: None
) -> bytes:
    """A bundle with these chunks as they are, hashed and signed as it should be."""
    sealer = PlainSealer()
    manifest = cbor2.loads(manifest_of(bundle_of(PARCELS["push"])).packed())
    manifest["chunks"] = [[len(chunk), sealer.digest(chunk)] for chunk in chunks]
    manifest["plain_bytes"] = CHUNK_BYTES_MAX * len(chunks)
    change(manifest)
    packed = cbor2.dumps(manifest)
    at = HEADER_BYTES + sum(map(len, chunks))
    fields = struct.pack(
        ">8sHH16s16sQQQ",
        b"SATCHELB",
        FORMAT,
        32,
        b"plain",
        BUNDLE_ID,
        at,
        len(packed),
        at + len(packed) + 32,
    )
    data = fields + struct.pack(">I", zlib.crc32(fields)) + b"".join(chunks) + packed
    header = Bundle.open(io.BytesIO(data + bytes(32))).header
    return data + sealer.sign(signed(header, packed))


def chunk(*records: bytes) -> bytes:
    """One chunk of records."""
    plain = b"".join(struct.pack(">I", len(record)) + record for record in records)
    return zstandard.ZstdCompressor().compress(plain)
