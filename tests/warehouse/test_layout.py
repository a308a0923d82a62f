"""Columns that one side lacks: they go to `extra` and come back, and the digest never changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_sync import values_of
from hypothesis import given
from hypothesis import strategies as st

from satchel_sync.digest import row_digest
from satchel_sync.layout import Layout
from satchel_sync.tables import TABLES, Column, Table


def fewer(table: Table, count: int) -> Table:
    """The table as a side of an older schema knows it."""
    return replace(table, columns=table.columns[: max(1, len(table.columns) - count)])


@given(data=st.data(), table=st.sampled_from(TABLES), count=st.integers(0, 4))
def test_a_row_keeps_its_content_at_an_older_hub(
    data: st.DataObject, table: Table, count: int
) -> None:
    older = fewer(table, count)
    layout = Layout.of(table, {column.name: column.tag for column in older.columns})
    values = data.draw(values_of(table))
    sent = tuple(layout.to_hub(values))
    assert layout.columns == (*older.names, "extra")
    assert row_digest(older, "k", sent) == row_digest(table, "k", values)
    assert row_digest(table, "k", layout.from_hub(sent)) == row_digest(table, "k", values)


@given(data=st.data(), table=st.sampled_from(TABLES), count=st.integers(1, 4))
def test_an_older_replica_hands_back_what_a_newer_hub_has(
    data: st.DataObject, table: Table, count: int
) -> None:
    older = fewer(table, count)
    layout = Layout.of(older, {column.name: column.tag for column in table.columns})
    values = data.draw(values_of(table))
    mine = layout.from_hub(values)
    assert row_digest(older, "k", mine) == row_digest(table, "k", values)
    assert row_digest(table, "k", tuple(layout.to_hub(mine))) == row_digest(table, "k", values)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_column_of_two_types_is_found(table: Table) -> None:
    first = table.columns[0]
    theirs = {column.name: column.tag for column in table.columns} | {first.name: "b"}
    assert Layout.of(table, theirs).differing == [first.name]
    assert Layout.of(replace(table, columns=(Column("new", "t"),)), theirs).differing == []
