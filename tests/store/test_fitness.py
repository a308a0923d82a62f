"""What is told at once of a row is what a closer look tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.store import fitness, quarantine
from satchel_sync.clock import HLC_MAX
from satchel_sync.limits import KEY_BYTES_MAX
from satchel_sync.stamp import CREATED, INT64_MAX, SCRUBBED
from satchel_sync.tables import BY_NAME, KINDS, Table

anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.text(st.characters(), max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(max_size=4),
    st.sampled_from(["a\0b", "\ud800", "née", 2.0**63]),
)
BY_TAG = {"t": st.text(max_size=8), "i": st.integers(-9, 9), "r": st.floats(0, 1), "b": st.none()}


@st.composite
def rows(draw: st.DrawFn) -> tuple[Table, Any, list[Any]]:
    """Rows that are mostly fit, but for a value or two."""
    table = BY_NAME[draw(st.sampled_from(KINDS))]
    values = [draw(st.none() | BY_TAG[column.tag]) for column in table.columns]
    values.append(draw(st.none() | st.just('{"x":"t:61"}')))
    for _ in range(draw(st.integers(0, 2))):
        values[draw(st.integers(0, len(values) - 1))] = draw(anything)
    key = draw(st.just("k") | anything | st.just("k" * (KEY_BYTES_MAX + 1)))
    return table, key, values


@given(rows())
def test_a_row_that_is_plain_may_travel_and_has_so_many_bytes(row: tuple[Table, Any, Any]) -> None:
    table, key, values = row
    told = fitness.plain_bytes(table, key, values)
    if told is not None:
        assert quarantine.inspect(table, key, values) is None
        assert told == quarantine.row_bytes(key, values)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "embedding"])
def test_most_rows_are_plain(kind: str) -> None:
    table = BY_NAME[kind]
    whole = {"t": "née", "i": 1, "r": 0.5}
    values = [whole[column.tag] for column in table.columns]
    for given_values in ([*values, None], [None] * len(values) + [None]):
        told = fitness.plain_bytes(table, "k", given_values)
        assert told == quarantine.row_bytes("k", given_values)


versions = st.tuples(
    st.sampled_from([CREATED, 3 * CREATED, 0, -1, INT64_MAX, None, 1.5]),
    st.sampled_from([1, HLC_MAX, HLC_MAX + 1, -1, INT64_MAX, None]),
    st.sampled_from([b"\x01" * 16, SCRUBBED.origin, b"", "x" * 16]),
    st.sampled_from([b"\x01" * 8, SCRUBBED.digest, b"", None]),
    st.sampled_from(["", "0" * 80, "x", None, 1]),
)


@given(versions)
def test_a_version_that_is_plain_is_sound(version: tuple[Any, ...]) -> None:
    if fitness.plain_version(version):
        assert quarantine.version_fault(version) is None


def test_a_new_row_has_a_plain_version() -> None:
    assert fitness.plain_version((CREATED, 1, b"\x01" * 16, b"\x01" * 8, ""))
