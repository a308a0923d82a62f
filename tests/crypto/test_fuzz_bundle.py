"""Sealed bundles of strangers: whatever is in the file, a typed error names the place.

Bundles in the clear have their own in tests/bundles/test_hostile.py.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import cbor2
import pytest
from fix_bundle_files import PARCELS
from fix_bundles import BUNDLE_ID, quiet
from fix_fuzz import EXAMPLES, NOISE, changed, cuts, odd_documents, places, refused, with_value
from fix_keys import Owner, sealed
from hypothesis import given
from hypothesis import strategies as st

from satchel import carrying
from satchel.config import Settings
from satchel.sealing import opener_for
from satchel_crypto.bundle_seal import BundleOpener, BundleSealer, Wrap
from satchel_crypto.errors import CryptoError, KeyInvalid, KeyMissing, SealedInvalid
from satchel_sync.bundles.header import HEADER_BYTES
from satchel_sync.bundles.reader import Bundle
from satchel_sync.errors import SyncError

REFUSALS = (SyncError, CryptoError)


@dataclass(frozen=True, repr=False)
class World:
    """A sender, a recipient, and a bundle between them."""

    sender: Owner
    recipient: Owner
    home: Path
    good: bytes

    @property
    def settings(self) -> Settings:
        """Of the recipient."""
        return Settings(home=self.home)

    def opened(self, data: bytes) -> int:
        """As an import opens it, up to where rows would be applied."""
        bundle = Bundle.open(io.BytesIO(data))
        opener = opener_for(self.settings, bundle, plain=False)
        return len(list(bundle.verified(opener, quiet).parts))

    def inspected(self, data: bytes) -> str:
        """As `bundle inspect` prints it."""
        file = self.home / "bundle"
        file.write_bytes(data)
        return json.dumps(carrying.inspect(self.settings, file), ensure_ascii=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("fuzz")
    home = folder / "home"
    sender, recipient = Owner.make(folder / "sender"), Owner.make(home / "keys")
    recipient.trust(sender, of=PARCELS["push"].head.replica_id.hex())
    return World(sender, recipient, home, sealed(sender, [recipient], PARCELS["push"]))


def test_the_good_one(world: World) -> None:
    assert world.opened(world.good) == len(list(PARCELS["push"].parts))
    assert '"signature": "fits"' in world.inspected(world.good)


@EXAMPLES
@given(data=NOISE)
def test_noise(world: World, data: bytes) -> None:
    assert refused(world.opened, data, *REFUSALS)
    assert refused(world.inspected, data, *REFUSALS)


def test_every_beginning_of_it(world: World) -> None:
    for data in cuts(world.good):
        assert refused(world.opened, data, *REFUSALS)


@EXAMPLES
@given(data=st.data())
def test_a_good_one_that_was_changed(world: World, data: st.DataObject) -> None:
    bad = data.draw(changed(world.good, (b"SATCHELB", b"SATE", BUNDLE_ID)))
    if bad != world.good:
        assert refused(world.opened, bad, *REFUSALS)


@EXAMPLES
@given(data=st.data())
def test_any_header_whose_checksum_fits(world: World, data: st.DataObject) -> None:
    fields = data.draw(changed(world.good[: HEADER_BYTES - 4]))[: HEADER_BYTES - 4]
    bad = fields + struct.pack(">I", zlib.crc32(fields)) + world.good[HEADER_BYTES:]
    if bad != world.good:
        assert refused(world.opened, bad, *REFUSALS)


@EXAMPLES
@given(data=st.data())
def test_any_manifest(world: World, data: st.DataObject) -> None:
    """Its signature does not fit any more; whoever could sign it is asked for before."""
    found = cbor2.loads(manifest_of(world.good))
    odd = data.draw(odd_documents(found))
    try:
        packed = cbor2.dumps(odd)
    except (UnicodeEncodeError, OverflowError):
        return  # a lone surrogate cannot be written
    bad = with_manifest(world.good, packed)
    if bad != world.good:
        assert refused(world.opened, bad, *REFUSALS)
        refused(world.inspected, bad, *REFUSALS)


def test_each_part_of_a_manifest_in_turn(world: World) -> None:
    found = cbor2.loads(manifest_of(world.good))
    odd = [0, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -1, "", "\u202e" * 200, b"", [], {}, None, True]
    for path in places(found):
        for value in odd if path else ():
            changed_one = with_value(found, path, value)
            bad = with_manifest(world.good, cbor2.dumps(changed_one))
            assert refused(world.opened, bad, *REFUSALS) or bad == world.good
            refused(world.inspected, bad, *REFUSALS)


def parts_of(data: bytes) -> tuple[int, int]:
    at, size = struct.unpack_from(">QQ", data, 44)
    return at, size


def manifest_of(data: bytes) -> bytes:
    at, size = parts_of(data)
    return data[at : at + size]


def with_manifest(data: bytes, manifest: bytes) -> bytes:
    at, size = parts_of(data)
    signature = data[at + size :]
    fields = bytearray(data[: HEADER_BYTES - 4])
    struct.pack_into(">QQ", fields, 52, len(manifest), at + len(manifest) + len(signature))
    head = bytes(fields) + struct.pack(">I", zlib.crc32(bytes(fields)))
    return head + data[HEADER_BYTES:at] + manifest + signature


# ---- wraps --------------------------------------------------------------------------------------


def found(world: World, wraps: list[Wrap]) -> BundleOpener:
    keys = world.recipient.keys
    return BundleOpener.find(
        keys.provider, keys.suite, bundle_id=BUNDLE_ID, wraps=wraps,
        own=keys.agreements(keys.suite),
    )  # fmt: skip


@EXAMPLES
@given(data=st.data())
def test_any_wrap(world: World, data: st.DataObject) -> None:
    keys = world.recipient.keys
    own = keys.agreement()
    sealer = BundleSealer.new(
        keys.provider, keys.suite, bundle_id=BUNDLE_ID, signing=world.sender.keys.signing(),
        recipients=[own.public],
    )  # fmt: skip
    ((named, wrapped),) = sealer.recipients
    assert found(world, [(named, wrapped)]).key == sealer.key
    bad = data.draw(st.one_of(changed(wrapped), NOISE))
    if bad != wrapped:
        assert refused(lambda one: found(world, [(named, one)]), bad, SealedInvalid)
    assert refused(lambda one: found(world, [(one, wrapped)]), b"?" * 16, KeyMissing)


@EXAMPLES
@given(public=st.one_of(st.binary(max_size=100), st.binary(min_size=65, max_size=65)))
def test_a_recipient_whose_key_is_no_point(world: World, public: bytes) -> None:
    keys = world.sender.keys
    assert refused(
        lambda one: BundleSealer.new(
            keys.provider, keys.suite, bundle_id=BUNDLE_ID, signing=keys.signing(), recipients=[one]
        ),
        public,
        KeyInvalid,
    )
