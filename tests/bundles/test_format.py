"""The file: a golden bundle, what comes back, and what is sealed and signed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import cbor2
import pytest
from fix_bundle_files import HUB, PARCELS, PUSH, A, head, row
from fix_bundles import BUNDLE_ID, MADE_AT_MS, bundle_of, manifest_of, parcel_of, quiet

from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.codec import encoded
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.header import HEADER_BYTES
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX, RECORD_BYTES_MAX
from satchel_sync.bundles.parcel import Parcel, Rows
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import context, write
from satchel_sync.limits import ROW_BYTES_MAX

VECTOR_1 = Path(__file__).parents[1] / "vectors" / "bundle.json"
VECTOR = Path(__file__).parents[1] / "vectors" / "bundle-2.json"


@pytest.mark.parametrize("name", PARCELS)
def test_a_parcel_comes_back_as_it_was(name: str) -> None:
    parcel = PARCELS[name]
    back = parcel_of(bundle_of(parcel))
    assert (back.head, list(back.parts)) == (parcel.head, list(parcel.parts))
    assert list(back.parts) == list(parcel.parts), "a second time too"


def test_the_golden_bundle_is_still_read_and_written() -> None:
    golden = json.loads(VECTOR.read_text("utf-8"))
    data = bytes.fromhex(golden["bundle"])
    parcel = PARCELS["push"]
    assert (parcel_of(data).head, list(parcel_of(data).parts)) == (parcel.head, parcel.parts)
    (record, *_) = [one for part in parcel.parts for one in encoded(part)]
    assert record.hex() == golden["first_record"]
    manifest = manifest_of(data)
    assert cbor2.loads(manifest.packed()) == cbor2.loads(manifest_of(bundle_of(parcel)).packed())


def test_a_bundle_of_format_1_is_still_read_and_has_no_recipients() -> None:
    golden = json.loads(VECTOR_1.read_text("utf-8"))
    data = bytes.fromhex(golden["bundle"])
    bundle = Bundle.open(io.BytesIO(data))
    assert (bundle.header.format, bundle.manifest.recipients) == (1, ())
    assert list(bundle.verified(PlainSealer(), quiet).parts) == PUSH


def test_rows_larger_than_a_chunk_and_many_small_ones() -> None:
    large = row("large", "x" * (3 * CHUNK_BYTES_MAX))
    many = tuple(row(f"key-{number}", f"text {number}" * 20) for number in range(5000))
    parcel = Parcel(head(), [Rows("memory", (large, *many))])
    data = bundle_of(parcel)
    manifest = manifest_of(data)
    assert len(manifest.chunks) == -(-manifest.plain_bytes // CHUNK_BYTES_MAX) > 3
    rows = [one for part in parcel_of(data).parts for one in part.rows]  # type: ignore[union-attr]
    assert rows == [large, *many]


def test_the_largest_row_that_may_travel_fits_a_record() -> None:
    text = "x" * (ROW_BYTES_MAX - 300)
    assert list(parcel_of(bundle_of(Parcel(head(), [Rows("memory", (row("k", text),))]))).parts)
    with pytest.raises(BundleInvalid, match="too large"):
        bundle_of(Parcel(head(), [Rows("memory", (row("k", "x" * RECORD_BYTES_MAX),))]))


def test_a_bundle_without_its_header_is_none() -> None:
    """What a writer that was killed leaves behind."""
    data = bundle_of(PARCELS["push"])
    with pytest.raises(BundleInvalid, match="no bundle"):
        parcel_of(bytes(HEADER_BYTES) + data[HEADER_BYTES:])


def test_a_chunk_is_sealed_for_its_place_in_its_bundle() -> None:
    assert len({context(one, number) for one in (A, HUB) for number in (0, 1)}) == 4


def test_a_signature_that_does_not_fit_is_refused() -> None:
    class Stranger(PlainSealer):
        def verify(self, data: bytes, signature: bytes) -> bool:
            return False

    bundle = Bundle.open(io.BytesIO(bundle_of(PARCELS["push"])))
    with pytest.raises(BundleInvalid, match="not what its sender signed"):
        bundle.verified(Stranger(), quiet)


def test_a_sealer_that_really_seals_is_asked_for_every_chunk() -> None:
    """The port: what is sealed for one place does not open at another."""

    class Xor(PlainSealer):
        name = "xor"

        def seal(self, plain: bytes, context: bytes) -> bytes:
            return self.digest(context)[:8] + bytes(b ^ 0x5A for b in plain)

        def open(self, sealed: bytes, context: bytes) -> bytes | None:
            if sealed[:8] != self.digest(context)[:8]:
                return None
            return bytes(b ^ 0x5A for b in sealed[8:])

    file = io.BytesIO()
    write(file, PARCELS["push"], Xor(), bundle_id=BUNDLE_ID, made_at_ms=MADE_AT_MS)
    bundle = Bundle.open(file)
    assert bundle.header.suite == "xor"
    assert list(bundle.verified(Xor(), quiet).parts) == PUSH
    with pytest.raises(BundleInvalid):
        bundle.verified(PlainSealer(), quiet)
