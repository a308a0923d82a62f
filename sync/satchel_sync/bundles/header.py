"""The first 72 bytes of a bundle: what it is, which suite sealed it, where its manifest lies.

offset  bytes  content (integers big-endian)
     0      8  magic, "SATCHELB"
     8      2  format version
    10      2  length of the signature
    12     16  suite of the sealer, ASCII, filled up with zeros
    28     16  id of the bundle
    44      8  offset of the manifest: the chunks lie between header and manifest
    52      8  length of the manifest; the signature follows it
    60      8  length of the file
    68      4  CRC-32 of the 68 bytes before
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from zlib import crc32

from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.limits import MANIFEST_BYTES_MAX, SIGNATURE_BYTES_MAX
from satchel_sync.errors import VersionsDiffer

MAGIC = b"SATCHELB"
FORMAT = 2
"""1 (2026-11): the first one, in the clear only. 2 (2026-11): recipients, sealed bundles."""
FORMATS = (1, 2)
"""Those that are read; a bundle of format 1 has no recipients."""
_FIELDS = struct.Struct(">8sHH16s16sQQQ")
HEADER_BYTES = _FIELDS.size + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """See the module; `suite` is the name of a `Sealer`."""

    format: int = FORMAT
    suite: str
    bundle_id: bytes
    manifest_at: int
    manifest_bytes: int
    signature_bytes: int

    @property
    def file_bytes(self) -> int:
        """How long the whole file is."""
        return self.manifest_at + self.manifest_bytes + self.signature_bytes

    def packed(self) -> bytes:
        """The bytes of the header."""
        fields = _FIELDS.pack(
            MAGIC,
            self.format,
            self.signature_bytes,
            self.suite.encode("ascii"),
            self.bundle_id,
            self.manifest_at,
            self.manifest_bytes,
            self.file_bytes,
        )
        return fields + struct.pack(">I", crc32(fields))

    @staticmethod
    def parse(data: bytes, file_bytes: int) -> Header:
        """The header of a file of that length.

        Raises BundleInvalid, which names the place; VersionsDiffer for a newer format.
        """
        if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
            raise BundleInvalid("this file is no bundle of satchel")
        if len(data) < HEADER_BYTES:
            raise _cut(file_bytes, HEADER_BYTES)
        _, version, signature, suite, bundle_id, at, manifest, total = _FIELDS.unpack(data[:-4])
        if struct.unpack(">I", data[-4:])[0] != crc32(data[:-4]):
            raise BundleInvalid(
                f"the header (bytes 0 to {HEADER_BYTES - 1}) is damaged", hint=EXPORT_AGAIN
            )
        if version not in FORMATS:
            raise VersionsDiffer(
                f"the bundle has the format {version}, this satchel reads up to {FORMAT}",
                hint="upgrade satchel here, or export with the same version",
            )
        if (
            at < HEADER_BYTES
            or not 0 < manifest <= MANIFEST_BYTES_MAX
            or signature > SIGNATURE_BYTES_MAX
            or total != at + manifest + signature
        ):
            raise BundleInvalid("the header names places that no bundle has", hint=EXPORT_AGAIN)
        if file_bytes < total:
            raise _cut(file_bytes, total)
        if file_bytes > total:
            raise BundleInvalid(
                f"the file goes on after the end of the bundle, byte {total}, up to {file_bytes}",
                hint=EXPORT_AGAIN,
            )
        return Header(
            format=version,
            suite=suite.rstrip(b"\0").decode("ascii", "replace"),
            bundle_id=bundle_id,
            manifest_at=at,
            manifest_bytes=manifest,
            signature_bytes=signature,
        )


EXPORT_AGAIN = "copy or export it again: nothing of it was applied, nothing is lost"


def _cut(file_bytes: int, total: int) -> BundleInvalid:
    return BundleInvalid(
        f"the file is cut off: it ends at byte {file_bytes} of at least {total}", hint=EXPORT_AGAIN
    )
