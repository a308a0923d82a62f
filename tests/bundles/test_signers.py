"""Whose signature under a bundle is taken: for every pair of who signed and whom it speaks for."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from fix_bundle_files import HUB, PUSH, A, head
from fix_keys import Owner, sealed

from satchel.config import Settings
from satchel.sealing import described, opener_for
from satchel_crypto.errors import SignerUnknown
from satchel_sync.bundles.errors import BundleInvalid, BundleRefused
from satchel_sync.bundles.parcel import Head, Parcel, ParcelKind
from satchel_sync.bundles.reader import Bundle

OLD, OTHER = b"o" * 16, b"x" * 16


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "ours")


@pytest.fixture
def ours(settings: Settings) -> Owner:
    owner = Owner.make(settings.home / "keys")
    owner.keys.make()
    return owner


@pytest.fixture
def theirs(tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "theirs")


def bundle(sender: Owner, recipient: Owner, said: Head) -> Bundle:
    data = sealed(sender, [recipient], Parcel(said, PUSH if said.kind is ParcelKind.PUSH else []))
    return Bundle.open(io.BytesIO(data))


PUSHED = head()
RENAMED = head(predecessors=(OTHER, OLD))
PULLED = head(ParcelKind.PULL)
ACKED = head(ParcelKind.ACK)
LISTED = head(ParcelKind.MANIFEST)


@pytest.mark.parametrize(
    ("said", "of", "taken"),
    [
        (PUSHED, A.hex(), True),
        (PUSHED, OLD.hex(), False),
        (PUSHED, "hub", False),
        (PUSHED, "", False),
        (RENAMED, A.hex(), True),
        (RENAMED, OLD.hex(), True),
        (RENAMED, "hub", False),
        *((said, "hub", True) for said in (PULLED, ACKED, LISTED)),
        *((said, one.hex(), False) for said in (PULLED, ACKED, LISTED) for one in (A, HUB, OLD)),
        *((said, "", False) for said in (PULLED, ACKED, LISTED)),
    ],
)
def test_a_trusted_key_speaks_for_whom_it_was_trusted(
    said: Head, of: str, taken: bool, settings: Settings, ours: Owner, theirs: Owner
) -> None:
    ours.trust(theirs, "they", of)
    found = bundle(theirs, ours, said)
    if taken:
        assert opener_for(settings, found, plain=False)
    else:
        with pytest.raises(BundleRefused, match="'they', whose key does not speak for"):
            opener_for(settings, found, plain=False)


def test_a_new_id_that_belongs_to_another_key_is_not_taken_over(
    settings: Settings, ours: Owner, theirs: Owner, tmp_path: Path
) -> None:
    """A trusted machine that names another one's id as its own new one, and its own as the old."""
    ours.trust(theirs, "they", OLD.hex())
    found = bundle(theirs, ours, RENAMED)
    assert opener_for(settings, found, plain=False)
    ours.trust(Owner.make(tmp_path / "victim"), "victim", A.hex())
    with pytest.raises(BundleRefused, match="does not speak for"):
        opener_for(settings, found, plain=False)


def test_a_stranger_is_refused_as_one_before_anything_is_opened(
    settings: Settings, ours: Owner, theirs: Owner, tmp_path: Path
) -> None:
    with pytest.raises(SignerUnknown):
        opener_for(settings, bundle(theirs, ours, PUSHED), plain=False)
    nobody = Owner.make(tmp_path / "nobody")
    with pytest.raises(SignerUnknown):
        opener_for(settings, bundle(theirs, nobody, PUSHED), plain=False)
    ours.trust(theirs, "they", A.hex())
    with pytest.raises(BundleRefused, match="cannot be opened here"):
        opener_for(settings, bundle(theirs, nobody, PUSHED), plain=False)


def test_what_this_machine_signed_itself_is_taken(settings: Settings, ours: Owner) -> None:
    """It may be replica and the warehouse's side in one."""
    old = bundle(ours, ours, PUSHED)
    ours.keys.rotate()
    for found in (old, *(bundle(ours, ours, said) for said in (PUSHED, PULLED))):
        assert opener_for(settings, found, plain=False)


def test_keys_of_before_are_taken_until_the_machine_is_removed(
    settings: Settings, ours: Owner, theirs: Owner
) -> None:
    ours.trust(theirs, "they", A.hex())
    old = bundle(theirs, ours, PUSHED)
    theirs.keys.rotate()
    new = bundle(theirs, ours, PUSHED)
    with pytest.raises(SignerUnknown):
        opener_for(settings, new, plain=False)
    ours.trust(theirs, "they", A.hex())
    for found in (old, new):
        assert opener_for(settings, found, plain=False)
    ours.keys.trusted.remove("they")
    for found in (old, new):
        with pytest.raises(SignerUnknown):
            opener_for(settings, found, plain=False)


def test_the_suite_of_another_satchel_is_told(
    settings: Settings, ours: Owner, theirs: Owner
) -> None:
    ours.trust(theirs, "they", A.hex())
    data = bytearray(sealed(theirs, [ours], Parcel(PUSHED, PUSH)))
    found = Bundle.open(io.BytesIO(bytes(data)))
    other = Bundle(
        found.file,
        type(found.header)(
            suite="of tomorrow",
            bundle_id=found.header.bundle_id,
            manifest_at=found.header.manifest_at,
            manifest_bytes=found.header.manifest_bytes,
            signature_bytes=found.header.signature_bytes,
        ),
        found.manifest,
        found.manifest_data,
        found.signature,
    )
    with pytest.raises(BundleRefused, match="'of tomorrow', which this satchel cannot open"):
        opener_for(settings, other, plain=False)
    told = described(settings, other)
    assert "of tomorrow" in told["signature"]
    assert told["damage"] is None


def test_a_changed_manifest_is_nobodys(settings: Settings, ours: Owner, theirs: Owner) -> None:
    ours.trust(theirs, "they", A.hex())
    found = bundle(theirs, ours, PUSHED)
    changed = Bundle(
        found.file, found.header, found.manifest, found.manifest_data + b"x", found.signature
    )
    with pytest.raises(BundleInvalid, match="not what its sender signed"):
        opener_for(settings, changed, plain=False)
    assert described(settings, changed)["signature"] == "does not fit"
