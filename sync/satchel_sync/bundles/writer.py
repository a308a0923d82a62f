"""Writing a bundle: header, chunks, manifest, signature; the header is put in its place last."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import zstandard

from satchel_sync.bundles.codec import encoded
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.header import HEADER_BYTES, Header
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX, CHUNKS_MAX
from satchel_sync.bundles.manifest import Counts, Manifest
from satchel_sync.bundles.parcel import Parcel
from satchel_sync.bundles.sealer import Sealer


def write(
    file: BinaryIO, parcel: Parcel, sealer: Sealer, *, bundle_id: bytes, made_at_ms: int
) -> Manifest:
    """Write a parcel to an empty, seekable file, with no more than a few chunks in memory.

    Until the last step the file has no header, so that no reader takes a part for the whole.
    """
    counts, chunks = Counts(), []
    plain_bytes = 0
    file.write(bytes(HEADER_BYTES))
    for number, plain in enumerate(_pieces(_framed(parcel, counts))):
        if number == CHUNKS_MAX:
            raise BundleInvalid(f"a bundle holds at most {CHUNKS_MAX} chunks")
        sealed = sealer.seal(compressed(plain), context(bundle_id, number))
        file.write(sealed)
        chunks.append((len(sealed), sealer.digest(sealed)))
        plain_bytes += len(plain)
    manifest = Manifest(
        head=parcel.head,
        bundle_id=bundle_id,
        made_at_ms=made_at_ms,
        counts=counts.plain(),
        plain_bytes=plain_bytes,
        chunks=tuple(chunks),
        recipients=sealer.recipients,
    )
    _close(file, manifest, sealer)
    return manifest


def _close(file: BinaryIO, manifest: Manifest, sealer: Sealer) -> None:
    """Manifest and signature behind the chunks, then the header before them."""
    data = manifest.packed()

    def header(signature_bytes: int) -> Header:
        return Header(
            suite=sealer.name,
            bundle_id=manifest.bundle_id,
            manifest_at=HEADER_BYTES + sum(size for size, _ in manifest.chunks),
            manifest_bytes=len(data),
            signature_bytes=signature_bytes,
        )

    # What is signed names the suite and the place of everything but the signature itself.
    signature = sealer.sign(signed(header(0), data))
    file.write(data + signature)
    file.seek(0)
    file.write(header(len(signature)).packed())


def signed(header: Header, manifest: bytes) -> bytes:
    """The bytes that the signature of a bundle is over."""
    places = struct.pack(">QQ", header.manifest_at, header.manifest_bytes)
    fields = [header.suite.encode(), header.bundle_id, places]
    if header.format > 1:
        fields.insert(0, struct.pack(">H", header.format))
    return b"satchel bundle\0" + b"\0".join(fields) + manifest


def context(bundle_id: bytes, number: int) -> bytes:
    """What a chunk is sealed for: its place in this bundle and no other."""
    return b"satchel bundle chunk" + bundle_id + struct.pack(">I", number)


def compressed(plain: bytes) -> bytes:
    """One zstd frame (RFC 8878) that names the size of its content."""
    return zstandard.ZstdCompressor(level=3, write_content_size=True).compress(plain)


def _framed(parcel: Parcel, counts: Counts) -> Iterator[bytes]:
    """The records of all parts, each behind its length."""
    for part in parcel.parts:
        counts.add(part)
        for record in encoded(part):
            yield struct.pack(">I", len(record)) + record


def _pieces(stream: Iterable[bytes]) -> Iterator[bytes]:
    """A stream of bytes in pieces of `CHUNK_BYTES_MAX`; the last is shorter."""
    buffer = bytearray()
    for some in stream:
        buffer += some
        while len(buffer) >= CHUNK_BYTES_MAX:
            yield bytes(buffer[:CHUNK_BYTES_MAX])
            del buffer[:CHUNK_BYTES_MAX]
    if buffer:
        yield bytes(buffer)
