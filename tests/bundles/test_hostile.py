"""Bundles whose hashes and signature are right and whose content is not: refused, and cheaply."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import cbor2
import pytest
import zstandard
from fix_bundle_files import COLUMNS, PARCELS, PUSH, STAMP, A, chunk, forged
from fix_bundles import bundle_of, manifest_of, parcel_of
from fix_hostile import BOMBS, PACKED, RECORDS
from fix_sync import values_of
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_sync.bundles.codec import decoded, encoded
from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.limits import CHUNK_BYTES_MAX, RECORD_BYTES_MAX
from satchel_sync.bundles.parcel import Rows
from satchel_sync.bundles.reader import expanded
from satchel_sync.changes import Row
from satchel_sync.errors import VersionsDiffer
from satchel_sync.tables import COLUMN_TAGS, TABLES

WHERE = "here"


@pytest.mark.parametrize("name", BOMBS)
def test_a_chunk_never_expands_to_more_than_it_may(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BundleInvalid, match="chunk 0"):
            expanded(BOMBS[name], "chunk 0")
        assert tracemalloc.get_traced_memory()[1] < 8 * CHUNK_BYTES_MAX
    finally:
        tracemalloc.stop()
    if len(BOMBS[name]) < CHUNK_BYTES_MAX:
        with pytest.raises(BundleInvalid):
            parcel_of(forged([BOMBS[name]]))


GOOD = next(encoded(PUSH[0]))
CHANGES: dict[str, Callable[[dict[str, object]], object]] = {
    "no kind": lambda m: m.pop("kind"),
    "an unknown kind": lambda m: m.update(kind="gift"),
    "a kind that holds no rows": lambda m: m.update(kind="ack", recipient=A),
    "an id of 15 bytes": lambda m: m.update(sender=b"x" * 15),
    "a text with NUL": lambda m: m.update(host="a\0b"),
    "a text without end": lambda m: m.update(token="x" * 256),
    "a cursor below 0": lambda m: m.update(base={"memory": -1}),
    "a cursor above 2^63": lambda m: m.update(base={"memory": 2**63}),
    "a cursor that is true": lambda m: m.update(base={"memory": True}),
    "a cursor that is no number": lambda m: m.update(base={"memory": float("nan")}),
    "a kind with an odd name": lambda m: m.update(reach={"memory; drop": 1}),
    "columns that are a list": lambda m: m.update(columns=[]),
    "a column of an unknown type": lambda m: m.update(columns={"memory": {"content": "q"}}),
    "counts that are missing": lambda m: m.pop("counts"),
    "counts that are wrong": lambda m: m.update(
        counts={"rows": {"memory": 3}, "losers": {}, "receipts": {}, "versions": {}}
    ),
    "chunks that are none": lambda m: m.update(chunks=7),
    "a chunk of no bytes": lambda m: m.update(chunks=[[0, b"x" * 32], *m["chunks"]]),  # type: ignore[misc]
    "a chunk without a hash": lambda m: m.update(chunks=[[5, b"short"]]),
    "more content than chunks hold": lambda m: m.update(plain_bytes=2**40),
    "less content than there is": lambda m: m.update(plain_bytes=10),
    "another bundle's id": lambda m: m.update(bundle=b"y" * 16),
    "recipients that are a map": lambda m: m.update(recipients={}),
    "a recipient without a key": lambda m: m.update(recipients=[[b"x" * 16, b""]]),
    "a recipient with a huge key": lambda m: m.update(recipients=[[b"x" * 16, b"y" * 1025]]),
    "a recipient with an id of 15 bytes": lambda m: m.update(recipients=[[b"x" * 15, b"y"]]),
    "too many recipients": lambda m: m.update(recipients=[[b"x" * 16, b"y"]] * 65),
    "predecessors that are text": lambda m: m.update(predecessors=["x" * 16]),
    "a date as a tag": lambda m: m.update(host=cbor2.CBORTag(0, "2026-01-01T00:00:00Z")),
    "a huge number as a tag": lambda m: m.update(made_at=2**80),
    "a list of lists of lists": lambda m: m.update(base=[[[[[[[[]]]]]]]]),
}


def counted(manifest: dict[str, object]) -> None:
    manifest["counts"] = {"rows": {"memory": 2}, "losers": {}, "receipts": {}, "versions": {}}
    manifest["plain_bytes"] = 4 + len(GOOD)


def test_a_forged_bundle_is_read_where_nothing_is_wrong_with_it() -> None:
    """So that what the next tests change is what they find."""
    assert list(parcel_of(forged([chunk(GOOD)], change=counted)).parts) == [PUSH[0]]


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_is_not_as_it_has_to_be_is_refused(name: str) -> None:
    def change(manifest: dict[str, object]) -> None:
        counted(manifest)
        CHANGES[name](manifest)

    with pytest.raises(BundleInvalid):
        parcel_of(forged([chunk(GOOD)], change=change))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_is_not_as_it_has_to_be_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(BundleInvalid, match=WHERE):
        decoded(RECORDS[name], COLUMNS, WHERE)
    with pytest.raises(BundleInvalid, match=r"chunk 0 \(bytes 72 to"):
        parcel_of(forged([chunk(GOOD, RECORDS[name])]))


@pytest.mark.parametrize(
    "plain",
    [b"\x00\x00", struct.pack(">I", 100) + b"too short", struct.pack(">I", RECORD_BYTES_MAX + 1)],
    ids=["half a length", "half a record", "a record of too many bytes"],
)
def test_a_stream_that_ends_in_a_record_is_refused(plain: bytes) -> None:
    with pytest.raises(BundleInvalid, match="record"):
        parcel_of(forged([zstandard.ZstdCompressor().compress(plain)]))


# ---- at random ----------------------------------------------------------------------------------

items = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=44)
    | st.sampled_from(["rows", "losers", "receipts", "versions", "memory", PACKED]),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=30,
)
NAMES = sorted(cbor2.loads(manifest_of(bundle_of(PARCELS["push"])).packed()))
sorts = st.sampled_from(["rows", "losers", "receipts", "versions"])


@settings(max_examples=500, deadline=1000)
@given(st.one_of(items, st.tuples(sorts, st.just("memory"), items, items), st.tuples(sorts, items)))
def test_any_record_is_a_part_or_invalid(item: object) -> None:
    with suppress(BundleInvalid):
        decoded(cbor2.dumps(item), COLUMNS, WHERE)


@settings(max_examples=500, deadline=1000)
@given(st.data())
def test_any_change_of_a_record_is_a_part_or_invalid(data: st.DataObject) -> None:
    changed = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(GOOD) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BundleInvalid):
        decoded(bytes(changed), COLUMNS, WHERE)


@settings(max_examples=300, deadline=2000)
@given(st.binary(max_size=400) | st.binary(max_size=100).map(lambda more: b"SATCHELB" + more))
def test_any_bytes_are_no_bundle(data: bytes) -> None:
    with pytest.raises((BundleInvalid, VersionsDiffer)):
        parcel_of(data)


@settings(max_examples=200, deadline=2000)
@given(st.dictionaries(st.sampled_from(NAMES), items, max_size=3))
def test_any_manifest_is_read_or_refused(changes: dict[str, object]) -> None:
    def change(manifest: dict[str, object]) -> None:
        counted(manifest)
        manifest.update(changes)

    with suppress(BundleInvalid, VersionsDiffer):
        list(parcel_of(forged([chunk(GOOD)], change=change)).parts)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_row_comes_back_bit_for_bit(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(TABLES))
    values = data.draw(values_of(table))
    part = Rows(table.name, (Row("key", STAMP, "", values),))
    back = [decoded(one, COLUMN_TAGS, WHERE) for one in encoded(part)]
    assert repr(back) == repr([part]), "also -0.0, which equals 0.0"
