"""Rows that somebody wrote past the triggers are named, and healed in the version they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, row_of, titled
from fix_sync import BY_TAG
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel_sync.changes import Row
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import EMBEDDING, MEMORY, TABLES, TASK, Table, Value
from satchel_warehouse.endpoint import WarehouseHub

RELAXED = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def hub(world: HubWorld) -> WarehouseHub:
    return world.replica(1)


def past_the_triggers(
    db: psycopg.Connection[Any], table: Table, statement: str, *given: Any
) -> None:
    """As a DBA in a hurry does it."""
    name = f"satchel.{table.name}"
    db.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER".encode())
    try:
        db.execute(f"UPDATE {name} SET {statement}".encode(), given)
    finally:
        db.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER".encode())


def whole(table: Table, key: str) -> Row:
    """A row with every column set."""
    values: dict[str, Value] = {
        column.name: {"t": f"text {column.name}", "i": 5, "r": 0.5, "b": b"\x00\x01"}[column.tag]
        for column in table.columns
        if column.name != "local"
    }
    return row_of(table, key, titled(table, **values))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_column_of_each_kind_counts(world: HubWorld, hub: WarehouseHub, table: Table) -> None:
    db, rows = world.psql(), [whole(table, f"r{n}") for n in range(3)]
    hub.push(table, rows)
    bound = hub.bound()
    assert list(hub.damaged(table)) == []
    for column in (*table.columns, None):
        name = column.name if column else "extra"
        past_the_triggers(db, table, f"\"{name}\" = NULL WHERE {table.key} = 'r1'")
        touched = name not in ("local", "extra")
        assert list(hub.damaged(table)) == (["r1"] if touched else []), name
        assert hub.heal(table, rows) == int(touched)
        assert hub.fetch(table, ["r0", "r1", "r2"]).rows == tuple(rows)
    assert hub.bound() == bound, "the version that all have needs no new sequence"


@RELAXED
@given(data=st.data(), table=st.sampled_from(TABLES))
def test_whatever_was_written_it_is_found_and_healed(
    world: HubWorld, hub: WarehouseHub, data: st.DataObject, table: Table
) -> None:
    column = data.draw(st.sampled_from([c for c in table.columns if c.name != "local"]))
    value = data.draw(BY_TAG[column.tag])
    row = whole(table, "drawn")
    hub.push(table, [row])
    past_the_triggers(
        world.psql(), table, f"\"{column.name}\" = %s WHERE {table.key} = 'drawn'", value
    )
    (found,) = hub.fetch(table, ["drawn"]).rows
    fits = row_digest(table, "drawn", found.values) == row.stamp.digest
    assert ("drawn" in hub.damaged(table)) is not fits
    assert hub.heal(table, [row]) == int(not fits)
    assert hub.fetch(table, ["drawn"]).rows == (row,)


@pytest.mark.parametrize(
    "extra", ["no json", '{"a":"t:00","a":"t:01"}', "[1]", '{"a":"t:\\u0000"}', "{", "NaN", "{}x"]
)
def test_an_extra_that_is_none_is_damage_and_no_error(
    world: HubWorld, hub: WarehouseHub, extra: str
) -> None:
    row = row_of(MEMORY, "extra", titled(MEMORY, title="x"))
    hub.push(MEMORY, [row])
    past_the_triggers(world.psql(), MEMORY, "extra = %s WHERE id = 'extra'", extra)
    assert list(hub.damaged(MEMORY)) == ["extra"]
    assert hub.heal(MEMORY, [row]) == 1


def test_tombstones_and_forgotten_rows_have_no_content(world: HubWorld, hub: WarehouseHub) -> None:
    db = world.psql()
    dead = row_of(TASK, "dead", titled(TASK), life=2 * CREATED)
    gone = scrubbed(TASK, "gone")
    hub.push(TASK, [dead, gone])
    assert list(hub.damaged(TASK)) == []
    past_the_triggers(db, TASK, "title = 'back again' WHERE id IN ('dead', 'gone')")
    assert sorted(hub.damaged(TASK)) == ["dead", "gone"]
    assert hub.heal(TASK, [dead, gone]) == 2
    assert hub.fetch(TASK, ["dead", "gone"]).rows == (dead, gone)


def test_only_the_right_content_of_the_right_version_heals(
    world: HubWorld, hub: WarehouseHub
) -> None:
    row = row_of(MEMORY, "m", titled(MEMORY, title="right"))
    fine = row_of(MEMORY, "fine", titled(MEMORY, title="right"))
    hub.push(MEMORY, [row, fine])
    past_the_triggers(world.psql(), MEMORY, "title = 'wrong' WHERE id = 'm'")
    other = row_of(MEMORY, "m", titled(MEMORY, title="other"))
    useless = [
        replace(row, values=other.values),
        other,
        replace(row, stamp=row.stamp._replace(hlc=row.stamp.hlc + 1)),
        replace(row, stamp=Stamp(9 * CREATED, *row.stamp[1:])),
        replace(fine, values=other.values),
        replace(row, key="nobody"),
    ]
    for attempt in useless:
        assert hub.heal(MEMORY, [attempt]) == 0
    assert list(hub.damaged(MEMORY)) == ["m"]
    hostile = [replace(row, values=titled(MEMORY, title="a\0b")), replace(row, values=("few",))]
    assert hub.heal(MEMORY, [*hostile, *useless, row]) == 1
    assert hub.fetch(MEMORY, ["fine", "m"]).rows == (fine, row)
    (version,) = (
        world.psql()
        .execute("SELECT lineage || schema_ver FROM satchel.memory WHERE id = 'm'")
        .fetchall()
    )
    assert version == ("1",), "healed is not changed"


def test_a_kind_is_read_in_parts(
    world: HubWorld, hub: WarehouseHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel_warehouse.endpoint.DAMAGE_ROWS_MAX", 3)
    keys = [f"part {n}" for n in range(9)]
    rows = [row_of(EMBEDDING, key, titled(EMBEDDING, vector=b"x")) for key in keys]
    hub.push(EMBEDDING, rows)
    past_the_triggers(world.psql(), EMBEDDING, "vector = 'y' WHERE id LIKE 'part%%'")
    assert list(hub.damaged(EMBEDDING)) == keys
    assert hub.heal(EMBEDDING, rows) == 9
    assert list(hub.damaged(EMBEDDING)) == []


def test_damage_of_another_tenant_is_nobody_elses(world: HubWorld, hub: WarehouseHub) -> None:
    theirs = world.replica(2, tenant="other")
    world.know(b"\x01" * 16, tenant="other")
    row = row_of(TASK, "theirs", titled(TASK, title="right"))
    for one in (hub, theirs):
        one.push(TASK, [row])
    past_the_triggers(world.psql(), TASK, "title = 'wrong' WHERE id = 'theirs'")
    past_the_triggers(
        world.psql(), TASK, "title = 'right' WHERE id = 'theirs' AND tenant = 'other'"
    )
    assert (list(hub.damaged(TASK)), list(theirs.damaged(TASK))) == (["theirs"], [])
    assert theirs.heal(TASK, [row]) == 0
    assert list(hub.damaged(TASK)) == ["theirs"]
