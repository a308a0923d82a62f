"""A bundle that was cut, lengthened, flipped or shuffled: it is refused, and the place is named."""

from __future__ import annotations

import struct
import zlib
from random import Random

import pytest
from fix_bundle_files import PARCELS, head, row
from fix_bundles import bundle_of, manifest_of, parcel_of

from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.header import HEADER_BYTES
from satchel_sync.bundles.parcel import Parcel, Rows
from satchel_sync.errors import VersionsDiffer


def several_chunks() -> bytes:
    """A bundle whose chunks do not compress, so that there are some of each size."""
    noise = "".join(map(chr, Random(7).choices(range(0x4E00, 0x4E00 + 20_000), k=900_000)))
    return bundle_of(Parcel(head(), [Rows("memory", (row("a", noise), row("b", noise)))]))


LARGE = several_chunks()


@pytest.mark.parametrize("cut", [0, 1, 7, 8, HEADER_BYTES - 1, HEADER_BYTES, 5000, -1000, -1])
def test_a_cut_file_says_where_it_ends(cut: int) -> None:
    data = LARGE[:cut]
    with pytest.raises(BundleInvalid) as told:
        parcel_of(data)
    assert (
        f"ends at byte {len(data)} " in str(told.value) if data else "no bundle" in str(told.value)
    )


def test_a_file_that_goes_on_says_where_it_should_end() -> None:
    with pytest.raises(BundleInvalid, match=f"end of the bundle, byte {len(LARGE)}, up to"):
        parcel_of(LARGE + b"x")


def places() -> list[tuple[str, int]]:
    """(what is named, a byte in it)."""
    manifest, found, at = manifest_of(LARGE), [], HEADER_BYTES
    for number, (size, _) in enumerate(manifest.chunks):
        where = f"chunk {number} (bytes {at} to {at + size - 1})"
        found += [(where, at), (where, at + size // 2), (where, at + size - 1)]
        at += size
    found += [("header", 9), ("header", 30), ("header", 50), ("header", HEADER_BYTES - 1)]
    return [*found, ("manifest", at), ("manifest", at + 100), ("manifest", len(LARGE) - 1)]


@pytest.mark.parametrize(("named", "at"), places(), ids=lambda value: str(value)[:8])
def test_a_flipped_byte_is_found_and_its_place_named(named: str, at: int) -> None:
    data = bytearray(LARGE)
    data[at] ^= 0x10
    with pytest.raises((BundleInvalid, VersionsDiffer)) as told:
        parcel_of(bytes(data))
    assert named in str(told.value)


def test_every_flipped_bit_of_a_small_bundle_is_found() -> None:
    data = bundle_of(PARCELS["push"])
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        with pytest.raises((BundleInvalid, VersionsDiffer)):
            parcel_of(bytes(flipped))


def test_swapped_dropped_and_foreign_chunks_are_found() -> None:
    manifest = manifest_of(LARGE)
    (one, _), (two, _) = manifest.chunks[:2]
    at = HEADER_BYTES
    first, second, rest = (
        LARGE[at : at + one],
        LARGE[at + one : at + one + two],
        LARGE[at + one + two :],
    )
    for changed in (second + first, first + first, second):
        with pytest.raises(BundleInvalid):
            parcel_of(LARGE[:at] + changed + rest)


def test_a_newer_format_is_told_apart_from_damage() -> None:
    data = bytearray(bundle_of(PARCELS["push"]))
    data[8:10] = struct.pack(">H", 3)
    data[68:72] = struct.pack(">I", zlib.crc32(data[:68]))
    with pytest.raises(VersionsDiffer, match="format 3"):
        parcel_of(bytes(data))
