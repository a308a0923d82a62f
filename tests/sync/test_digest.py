"""Canonical bytes: NULLs do not count, `extra` merges in, every column does count."""

from __future__ import annotations

import pytest
from fix_sync import BY_TAG, stamps, values_of
from hypothesis import given
from hypothesis import strategies as st

from satchel_sync.digest import (
    bucket_of,
    derived_id,
    format_extra,
    parse_extra,
    row_digest,
    sums,
    value_bytes,
    value_of,
)
from satchel_sync.stamp import SCRUBBED, Stamp, crosses_end, extend, lineage_of, next_end
from satchel_sync.tables import MEMORY, TABLES, Table, Value
from satchel_sync.tables.kinds import Column


@given(st.data())
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_column_of_a_newer_peer_counts_the_same_in_extra(
    table: Table, data: st.DataObject
) -> None:
    values = data.draw(values_of(table))
    at = data.draw(st.integers(0, len(table.columns) - 1))
    column = table.columns[at]
    older = Table(table.name, table.key, table.row, tuple(c for c in table.columns if c != column))
    kept = values[at]
    extra = None if kept is None else {column.name: (column.tag, value_bytes(column.tag, kept))}
    shorter = (*values[:at], *values[at + 1 : -1], format_extra(extra or {}))
    assert row_digest(table, "key", values) == row_digest(older, "key", shorter)


@given(st.data())
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_changes_the_digest(table: Table, data: st.DataObject) -> None:
    empty: list[Value] = [None] * (len(table.columns) + 1)
    seen = {row_digest(table, "key", empty)}
    for at, column in enumerate(table.columns):
        one = [*empty]
        one[at] = data.draw(BY_TAG[column.tag])
        seen.add(row_digest(table, "key", one))
    assert len(seen) == len(table.columns) + 1


@given(st.sampled_from("tirb"), st.data())
def test_a_value_survives_its_bytes(tag: str, data: st.DataObject) -> None:
    value = data.draw(BY_TAG[tag])
    assert value == value_of(tag, value_bytes(tag, value))


def test_minus_zero_is_zero() -> None:
    assert value_bytes("r", -0.0) == value_bytes("r", 0.0)


def test_values_of_another_type_are_refused() -> None:
    for tag, value in [("t", 1), ("i", "x"), ("i", 1.5), ("r", "1"), ("b", "x")]:
        with pytest.raises(TypeError, match="tagged"):
            value_bytes(tag, value)
    for tag, raw in [("i", b"123"), ("r", b""), ("z", b"")]:
        with pytest.raises(ValueError, match=r"tag|bytes"):
            value_of(tag, raw)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.tuples(st.just("b"), st.binary())))
def test_extra_survives_its_text(columns: dict[str, tuple[str, bytes]]) -> None:
    assert columns == parse_extra(format_extra(columns))


@given(stamps)
def test_a_stamp_survives_its_hex(stamp: Stamp) -> None:
    assert stamp == Stamp.parse(stamp.hex())
    assert len(stamp.hex()) == 80


@given(st.lists(stamps, unique=True))
def test_a_lineage_keeps_the_last_eight_newest_first(chain: list[Stamp]) -> None:
    lineage = ""
    for stamp in chain:
        lineage = extend(lineage, stamp)
    assert [stamp.hex() for stamp in reversed(chain)][:8] == list(lineage_of(lineage))


def test_a_life_counts_ends_and_saturates() -> None:
    assert crosses_end("pending", "completed")
    assert crosses_end("failed", "completed")
    assert not crosses_end("pending", "blocked")
    assert not crosses_end("completed", "completed")
    assert next_end(0x1FFFF) == 0x1FFFF
    assert next_end(0x10000) == 0x10001
    assert SCRUBBED.dead


def test_derived_ids_are_uuid_v8_and_depend_on_field_borders() -> None:
    assert derived_id("ab", "c") != derived_id("a", "bc")
    made = derived_id("x", 1)
    assert (len(made), made[14]) == (36, "8")
    assert made[19] in "89ab"


@given(st.lists(st.tuples(st.uuids().map(str), stamps), unique_by=lambda pair: pair[0]))
def test_sums_are_independent_of_order(versions: list[tuple[str, Stamp]]) -> None:
    forth, back = sums("memory", versions), sums("memory", list(reversed(versions)))
    assert forth == back
    assert sum(count for count, _ in forth.values()) == len(versions)
    assert all(bucket_of("memory", key) in forth for key, _ in versions)


def test_a_table_refuses_a_type_that_cannot_travel() -> None:
    assert MEMORY.column("content") == Column("content", "t")
    assert MEMORY.column("nothing") is None
