"""Sealed bundles: each suite, across providers; every change is found and its place named."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import cbor2
import pytest
from fix_bundle_files import PARCELS, head, row
from fix_bundle_files import chunk as chunk_of
from fix_bundles import BUNDLE_ID, quiet
from fix_hostile import BOMBS, RECORDS
from fix_keys import LINES, Owner, opened, sealed

from satchel_crypto.algorithms import P256, P384, Suite
from satchel_crypto.bundle_seal import BundleSealer
from satchel_crypto.envelope import Keys, Purpose, SymmetricKey
from satchel_crypto.envelope import open as open_envelope
from satchel_crypto.errors import CryptoError, KeyMissing, SealedInvalid
from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.header import HEADER_BYTES, Header
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX
from satchel_sync.bundles.parcel import Parcel, Rows
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import context
from satchel_sync.errors import VersionsDiffer

TEXT = "the text that nobody else may read"
SECRET = Parcel(head(), [Rows("memory", (row("secret", TEXT),))])
OTHER_ID = bytes(reversed(BUNDLE_ID))


@pytest.fixture(params=LINES, ids=lambda line: f"{line[0]}-{line[1].name}")
def line(request: pytest.FixtureRequest) -> tuple[str, Suite]:
    """Provider and suite."""
    found: tuple[str, Suite] = request.param
    return found


@pytest.fixture
def sender(line: tuple[str, Suite], tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "sender", *line)


@pytest.fixture
def recipient(line: tuple[str, Suite], tmp_path: Path) -> Owner:
    return Owner.make(tmp_path / "recipient", *line)


# ---- there and back -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARCELS)
def test_a_parcel_comes_back_as_it_was(name: str, sender: Owner, recipient: Owner) -> None:
    parcel = PARCELS[name]
    back = opened(recipient, sealed(sender, [recipient], parcel))
    assert (back.head, list(back.parts)) == (parcel.head, list(parcel.parts))
    assert list(back.parts) == list(parcel.parts), "a second time too"


def test_its_text_is_not_in_the_file(sender: Owner, recipient: Owner) -> None:
    data = sealed(sender, [recipient], SECRET)
    assert TEXT.encode() not in data
    frames = [chunk for _, _, chunk in Bundle.open(io.BytesIO(data)).chunks(PlainSealer().digest)]
    assert len(frames) == 1
    assert b"\x28\xb5\x2f\xfd" not in frames[0], "no zstd frame to be seen"


def test_each_recipient_opens_it_and_nobody_else(
    line: tuple[str, Suite], sender: Owner, recipient: Owner, tmp_path: Path
) -> None:
    data = sealed(sender, [recipient, sender], SECRET)
    for one in (recipient, sender):
        assert list(opened(one, data).parts) == SECRET.parts
    stranger = Owner.make(tmp_path / "stranger", *line)
    with pytest.raises(KeyMissing, match=recipient.keys.agreement().id.hex()):
        opened(stranger, data)
    stranger.keys.make()
    with pytest.raises(KeyMissing):
        opened(stranger, data)


def test_a_wrap_is_made_as_the_format_says(
    line: tuple[str, Suite], sender: Owner, recipient: Owner
) -> None:
    """Step by step, as somebody would who has the page and not the program."""
    provider, suite = recipient.keys.provider, line[1]
    ((named, wrap),) = manifest(sealed(sender, [recipient], SECRET))["recipients"]
    own = recipient.keys.agreement()
    new, sealed_key = wrap[: len(own.public)], wrap[len(own.public) :]
    shared = provider.agree(suite.agreement, own.private, new)
    info = b"satchel bundle key\0" + suite.name.encode() + b"\0" + new + own.public
    wrapping = SymmetricKey(own.id, provider.hkdf(shared, salt=BUNDLE_ID, info=info))
    found = open_envelope(
        provider, Keys(wrapping), sealed_key, Purpose.WRAPPED_KEY, context=BUNDLE_ID
    )
    assert (named, len(found)) == (own.id, 32)


def test_an_old_key_still_opens_what_was_sealed_for_it(sender: Owner, recipient: Owner) -> None:
    old = sealed(sender, [recipient], SECRET)
    recipient.keys.rotate()
    new = sealed(sender, [recipient], SECRET)
    assert manifest(old)["recipients"][0][0] != manifest(new)["recipients"][0][0]
    for data in (old, new):
        assert list(opened(recipient, data).parts) == SECRET.parts


def test_no_two_bundles_share_a_key_or_a_nonce(sender: Owner, recipient: Owner) -> None:
    one, two = (sealed(sender, [recipient], SECRET) for _ in range(2))
    (chunk, *_), (other, *_) = chunks(one), chunks(two)
    assert len(chunk) == len(other)
    assert sum(a == b for a, b in zip(chunk[39:], other[39:], strict=True)) < len(chunk) // 4
    assert manifest(one)["recipients"] != manifest(two)["recipients"]


@pytest.mark.parametrize(("writes", "reads"), [("openssl", "wolfcrypt"), ("wolfcrypt", "openssl")])
def test_what_one_provider_seals_another_opens(writes: str, reads: str, tmp_path: Path) -> None:
    sender = Owner.make(tmp_path / "sender", writes, P256)
    recipient = Owner.make(tmp_path / "recipient", reads, P256)
    for name in PARCELS:
        data = sealed(sender, [recipient], PARCELS[name])
        assert list(opened(recipient, data).parts) == list(PARCELS[name].parts)


def test_a_suite_of_the_other_is_written_too(tmp_path: Path) -> None:
    one, two = Owner.make(tmp_path / "1", suite=P256), Owner.make(tmp_path / "2", suite=P384)
    for suite in (P256, P384):
        data = sealed(one, [two], SECRET, suite=suite)
        assert Bundle.open(io.BytesIO(data)).header.suite == suite.name
        assert list(opened(two, data).parts) == SECRET.parts


# ---- changed ------------------------------------------------------------------------------------


def manifest(data: bytes) -> dict[str, list[list[bytes]]]:
    """The manifest as a map."""
    found: dict[str, list[list[bytes]]] = cbor2.loads(Bundle.open(io.BytesIO(data)).manifest_data)
    return found


def chunks(data: bytes) -> Iterator[bytes]:
    """The sealed chunks."""
    return (one for _, _, one in Bundle.open(io.BytesIO(data)).chunks(PlainSealer().digest))


def test_every_flipped_bit_is_found(sender: Owner, recipient: Owner) -> None:
    data = sealed(sender, [recipient], SECRET)
    for at in range(0, len(data), 3):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        with pytest.raises((BundleInvalid, VersionsDiffer, SealedInvalid, KeyMissing)) as told:
            opened(recipient, bytes(flipped))
        if HEADER_BYTES <= at < Bundle.open(io.BytesIO(data)).header.manifest_at:
            assert "chunk 0 (bytes 72 to " in str(told.value)


def test_a_cut_or_lengthened_file_is_refused(sender: Owner, recipient: Owner) -> None:
    data = sealed(sender, [recipient], SECRET)
    for cut in (0, 1, HEADER_BYTES, len(data) - 1):
        with pytest.raises(BundleInvalid, match=r"ends at byte|no bundle"):
            opened(recipient, data[:cut])
    with pytest.raises(BundleInvalid, match="goes on after"):
        opened(recipient, data + b"x")


def rebuilt(
    data: bytes, *, chunks: list[bytes], signature: bytes, suite: str = "", **changes: object
) -> bytes:
    """A bundle whose header and hashes are right; what its signature says is the test's affair."""
    bundle, found = Bundle.open(io.BytesIO(data)), dict(manifest(data))
    digest = PlainSealer().digest
    found["chunks"] = [[len(one), digest(one)] for one in chunks]  # type: ignore[list-item]
    packed = cbor2.dumps(found | changes)
    header = Header(
        suite=suite or bundle.header.suite,
        bundle_id=bundle.header.bundle_id,
        manifest_at=HEADER_BYTES + sum(map(len, chunks)),
        manifest_bytes=len(packed),
        signature_bytes=len(signature),
    )
    return header.packed() + b"".join(chunks) + packed + signature


def resigned(data: bytes, owner: Owner, suite: Suite) -> bytes:
    """The same signed anew by its owner, who may do as he likes."""
    bundle = Bundle.open(io.BytesIO(data))
    signed = owner.keys.signing(suite).sign(owner.keys.provider, "bundle", bundle.signed)
    return data[: -len(bundle.signature)] + signed.public + signed.value


def test_what_is_rebuilt_as_it_was_is_read(
    line: tuple[str, Suite], sender: Owner, recipient: Owner
) -> None:
    """So that what the next tests change is what they find."""
    data = sealed(sender, [recipient], SECRET)
    same = rebuilt(data, chunks=list(chunks(data)), signature=bundle_signature(data))
    assert list(opened(recipient, resigned(same, sender, line[1])).parts) == SECRET.parts


def bundle_signature(data: bytes) -> bytes:
    return Bundle.open(io.BytesIO(data)).signature


def test_a_recipient_that_was_replaced_or_added_breaks_the_signature(
    sender: Owner, recipient: Owner
) -> None:
    data = sealed(sender, [recipient], SECRET)
    (_, wrap) = manifest(data)["recipients"][0]
    own = manifest(sealed(sender, [recipient], SECRET))["recipients"]
    for wraps in ([], own, [*manifest(data)["recipients"], [b"x" * 16, wrap]]):
        changed = rebuilt(
            data, chunks=list(chunks(data)), signature=bundle_signature(data), recipients=wraps
        )
        with pytest.raises((BundleInvalid, KeyMissing)):
            opened(recipient, changed)
        bundle = Bundle.open(io.BytesIO(changed))
        assert not PlainSealer().verify(bundle.signed, bundle.signature)


@pytest.mark.parametrize("signature", [b"", b"x", b"\0" * 129, b"\0" * 96, b"\0" * 193])
def test_a_signature_that_was_stripped_or_is_none_is_refused(
    signature: bytes, sender: Owner, recipient: Owner
) -> None:
    data = sealed(sender, [recipient], SECRET)
    changed = rebuilt(data, chunks=list(chunks(data)), signature=signature)
    with pytest.raises(BundleInvalid, match="not what its sender signed"):
        opened(recipient, changed)


def test_a_sealed_bundle_that_calls_itself_plain_is_no_bundle(
    sender: Owner, recipient: Owner
) -> None:
    data = sealed(sender, [recipient], SECRET)
    plain = PlainSealer()
    changed = rebuilt(data, chunks=list(chunks(data)), signature=b"\0" * 32, suite="plain")
    signature = plain.sign(Bundle.open(io.BytesIO(changed)).signed)
    with pytest.raises(BundleInvalid, match="chunk 0"):
        Bundle.open(io.BytesIO(changed[:-32] + signature)).verified(plain, quiet)


def test_chunks_do_not_move_within_or_between_bundles(
    line: tuple[str, Suite], sender: Owner, recipient: Owner
) -> None:
    """Not even by somebody who may sign: the sender itself, with hashes that are right."""
    noise = "".join(chr(0x4E00 + zlib.crc32(struct.pack(">I", n)) % 20_000) for n in range(600_000))
    large = Parcel(head(), [Rows("memory", (row("a", noise),))])
    data, other = sealed(sender, [recipient], large), sealed(sender, [recipient], large)
    moved = sealed(sender, [recipient], large, bundle_id=OTHER_ID)
    first, *rest = chunks(data)
    cases = {
        "swapped": [rest[0], first, *rest[1:]],
        "from the same place of another bundle": [next(chunks(other)), *rest],
        "from a bundle with another id": [next(chunks(moved)), *rest],
        "no envelope": [b"nothing of the sort", *rest],
        "a plain frame": [b"\x28\xb5\x2f\xfd\x00", *rest],
    }
    for name, changed in cases.items():
        forged = rebuilt(data, chunks=changed, signature=bundle_signature(data))
        with pytest.raises(BundleInvalid, match=r"chunk 0 .* not sealed for this place"):
            opened(recipient, resigned(forged, sender, line[1]))
        assert name


def test_a_wrap_for_another_bundle_does_not_open(
    line: tuple[str, Suite], sender: Owner, recipient: Owner
) -> None:
    data = sealed(sender, [recipient], SECRET)
    other = manifest(sealed(sender, [recipient], SECRET, bundle_id=OTHER_ID))["recipients"]
    wraps = {
        "another bundle's": other,
        "empty points": [[other[0][0], bytes(len(other[0][1]))]],
        "cut": [[other[0][0], other[0][1][:20]]],
        "one byte": [[other[0][0], b"x"]],
    }
    for name, wrap in wraps.items():
        forged = rebuilt(
            data, chunks=list(chunks(data)), signature=bundle_signature(data), recipients=wrap
        )
        with pytest.raises(SealedInvalid, match="does not open"):
            opened(recipient, resigned(forged, sender, line[1]))
        assert name


@pytest.mark.parametrize("name", [*BOMBS, *RECORDS])
def test_what_a_sender_sealed_is_trusted_no_more_than_what_he_did_not(
    name: str, tmp_path: Path
) -> None:
    """A trusted machine may have been taken over: each hostile chunk, sealed and signed by it."""
    sender, recipient = Owner.make(tmp_path / "sender"), Owner.make(tmp_path / "recipient")
    sealer = BundleSealer.new(
        sender.keys.provider,
        P256,
        bundle_id=BUNDLE_ID,
        signing=sender.keys.signing(),
        recipients=[recipient.keys.agreement().public],
    )
    frame = BOMBS[name] if name in BOMBS else chunk_of(RECORDS[name])
    sealed_frame = sealer.seal(frame, context(BUNDLE_ID, 0))
    data = rebuilt(
        sealed(sender, [recipient], PARCELS["push"]),
        chunks=[sealed_frame],
        signature=b"\0" * 129,
        recipients=[list(wrap) for wrap in sealer.recipients],
        plain_bytes=CHUNK_BYTES_MAX,
    )
    with pytest.raises(BundleInvalid, match="chunk 0"):
        opened(recipient, resigned(data, sender, P256))


def test_no_error_of_a_damaged_bundle_shows_a_key(sender: Owner, recipient: Owner) -> None:
    data = sealed(sender, [recipient], SECRET)
    private = [key.private for key in recipient.keys.agreements(recipient.keys.suite)]
    shown = repr((sender.keys.signing(), list(recipient.keys.agreements(recipient.keys.suite))))
    for key in private:
        assert key.hex() not in shown
        assert repr(key) not in shown
    with pytest.raises((CryptoError, BundleInvalid)) as told:
        opened(recipient, data[:-1])
    assert all(key.hex() not in str(told.value) for key in private)
