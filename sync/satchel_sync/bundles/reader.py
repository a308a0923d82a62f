"""Reading a bundle: all of it is verified before any of it is given out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from satchel_sync.bundles.codec import decoded
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.header import EXPORT_AGAIN, HEADER_BYTES, Header
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX, RECORD_BYTES_MAX
from satchel_sync.bundles.manifest import Counts, Manifest
from satchel_sync.bundles.parcel import Parcel, Part
from satchel_sync.bundles.sealer import Opener
from satchel_sync.bundles.writer import context, signed
from satchel_sync.progress import Progress, silent

Digest = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Bundle:
    """An open file whose header and manifest are sound; nothing else of it is known yet."""

    file: BinaryIO
    header: Header
    manifest: Manifest
    manifest_data: bytes
    signature: bytes

    @staticmethod
    def open(file: BinaryIO) -> Bundle:
        """Read header and manifest of a seekable file. Raises BundleInvalid, VersionsDiffer."""
        file_bytes = file.seek(0, 2)
        header = Header.parse(_at(file, 0, min(HEADER_BYTES, file_bytes)), file_bytes)
        data = _at(file, header.manifest_at, header.manifest_bytes)
        signature = _at(file, header.manifest_at + header.manifest_bytes, header.signature_bytes)
        manifest = Manifest.parse(data, header.manifest_at - HEADER_BYTES)
        if manifest.bundle_id != header.bundle_id:
            raise BundleInvalid("header and manifest are of two bundles", hint=EXPORT_AGAIN)
        return Bundle(file, header, manifest, data, signature)

    @property
    def signed(self) -> bytes:
        """What its signature is over."""
        return signed(self.header, self.manifest_data)

    def unsigned(self) -> BundleInvalid:
        """The error that says that the signature is not of its sender."""
        return BundleInvalid(
            f"the manifest (bytes {self.header.manifest_at} to {self.header.file_bytes - 1})"
            " is not what its sender signed",
            hint=EXPORT_AGAIN,
        )

    def verified(self, opener: Opener, progress: Progress) -> Parcel:
        """The parcel, once signature, every chunk, every record and all counts have been checked.

        Its parts can be run through any number of times. Raises BundleInvalid, naming the place.
        """
        if not opener.verify(self.signed, self.signature):
            raise self.unsigned()
        counts = Counts()
        for part in self._parts(opener, progress):
            counts.add(part)
        if counts.plain() != self.manifest.counts:
            raise BundleInvalid("the bundle does not hold what its manifest counts")
        return Parcel(self.manifest.head, _Again(lambda: self._parts(opener, silent)))

    def chunks(self, digest: Digest) -> Iterator[tuple[int, str, bytes]]:
        """(number, place in words, bytes) of every chunk, its hash checked. Needs no key."""
        at = HEADER_BYTES
        for number, (size, expected) in enumerate(self.manifest.chunks):
            where = f"chunk {number} (bytes {at} to {at + size - 1})"
            data = _at(self.file, at, size)
            if digest(data) != expected:
                raise BundleInvalid(f"{where} does not have its hash", hint=EXPORT_AGAIN)
            yield number, where, data
            at += size

    def _parts(self, opener: Opener, progress: Progress) -> Iterator[Part]:
        columns, total = self.manifest.head.columns, len(self.manifest.chunks)
        records = _Records()
        plain_bytes = 0
        for number, where, sealed in self.chunks(opener.digest):
            frame = opener.open(sealed, context(self.header.bundle_id, number))
            if frame is None:
                raise BundleInvalid(f"{where} was not sealed for this place in this bundle")
            plain = expanded(frame, where)
            plain_bytes += len(plain)
            if plain_bytes > self.manifest.plain_bytes:
                raise BundleInvalid(f"{where} expands to more than the manifest claims")
            for record in records.more(plain, where):
                yield decoded(record, columns, f"record {records.count} in {where}")
            progress("verify", "chunks", number + 1, total)
        records.end()
        if plain_bytes != self.manifest.plain_bytes:
            raise BundleInvalid("the chunks do not expand to what the manifest claims")


def expanded(data: bytes, where: str) -> bytes:
    """What one zstd frame holds, never more than `CHUNK_BYTES_MAX`. Raises BundleInvalid.

    The size that the frame claims is looked at before anything is allocated for it.
    """
    try:
        frame = zstandard.get_frame_parameters(data)
        if frame.content_size > CHUNK_BYTES_MAX or frame.dict_id:
            raise BundleInvalid(f"{where} would expand to more than {CHUNK_BYTES_MAX} bytes")
        plain = zstandard.ZstdDecompressor(max_window_size=CHUNK_BYTES_MAX).decompress(
            data, max_output_size=CHUNK_BYTES_MAX, allow_extra_data=False
        )
    except (zstandard.ZstdError, MemoryError) as error:
        raise BundleInvalid(f"{where} cannot be decompressed: {error}") from error
    return plain


class _Records:
    """Cuts the stream of chunks into records; keeps no more than the one that is not whole yet."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.count = 0

    def more(self, plain: bytes, where: str) -> Iterator[bytes]:
        """The records that are whole with this chunk."""
        self.buffer += plain
        at = 0
        while len(self.buffer) - at >= 4:
            (size,) = struct.unpack_from(">I", self.buffer, at)
            if size > RECORD_BYTES_MAX:
                raise BundleInvalid(f"{where} begins a record of {size} bytes: too large")
            if len(self.buffer) - at - 4 < size:
                break
            self.count += 1
            yield bytes(self.buffer[at + 4 : at + 4 + size])
            at += 4 + size
        del self.buffer[:at]

    def end(self) -> None:
        """Raises BundleInvalid if a record is not whole."""
        if self.buffer:
            raise BundleInvalid(f"record {self.count + 1} ends in the middle")


@dataclass(frozen=True)
class _Again:
    """Parts that are read anew each time they are run through."""

    parts: Callable[[], Iterator[Part]]

    def __iter__(self) -> Iterator[Part]:
        return self.parts()


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise BundleInvalid(f"the file ends at byte {offset + len(data)}", hint=EXPORT_AGAIN)
    return data
