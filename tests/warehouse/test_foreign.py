"""Rows that somebody writes with psql: they get a version, travel, and are never lost."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, row_of, titled

from satchel_sync.changes import Row
from satchel_sync.digest import row_digest
from satchel_sync.merge import Verdict, decide
from satchel_sync.stamp import CREATED, SCRUBBED, lineage_of, next_end, next_generation
from satchel_sync.tables import MEMORY, SPACE, TABLES, TASK, Table, Value
from satchel_warehouse.endpoint import WarehouseHub


@pytest.fixture(scope="module")
def hub(world: HubWorld) -> WarehouseHub:
    return world.replica(1)


@pytest.fixture(scope="module")
def db(world: HubWorld) -> psycopg.Connection[Any]:
    return world.psql()


def changed(hub: WarehouseHub, table: Table, after: int) -> dict[str, Row]:
    rows = hub.pull(table, after, hub.bound()[table.name]).rows
    for row in rows:
        assert row_digest(table, row.key, row.values) == row.stamp.digest
    return {row.key: row for row in rows}


def pushed(hub: WarehouseHub, table: Table, key: str, **columns: Any) -> tuple[Row, int]:
    row = row_of(table, key, titled(table, **columns))
    assert hub.push(table, [row]).accepted == (key,)
    return row, hub.bound()[table.name]


def test_an_insert_travels(hub: WarehouseHub, db: psycopg.Connection[Any]) -> None:
    after, now = hub.bound()["memory"], hub.now_ms()
    db.execute("INSERT INTO satchel.memory (id, title, importance) VALUES ('ins', 'ünï', '-0.0')")
    row = changed(hub, MEMORY, after)["ins"]
    assert (row.stamp.life, row.lineage, row.values[1]) == (CREATED, "", "ünï")
    assert row.stamp.hlc >> 16 in range(now, now + 60_000)
    assert str(row.values[MEMORY.names.index("importance")]) == "0.0"
    query = "SELECT id FROM satchel.tenant WHERE name = 'default'"
    assert db.execute(query).fetchone() == (row.stamp.origin,)


def test_what_is_written_by_hand_bears_the_id_of_its_tenant(
    world: HubWorld, db: psycopg.Connection[Any]
) -> None:
    theirs = world.replica(30, tenant="written by hand")
    after = theirs.bound()["memory"]
    db.execute("INSERT INTO satchel.memory (tenant, id) VALUES ('written by hand', 'theirs')")
    row = changed(theirs, MEMORY, after)["theirs"]
    query = "SELECT id FROM satchel.tenant WHERE name = 'written by hand'"
    assert db.execute(query).fetchone() == (row.stamp.origin,)
    query = "SELECT pushed_by FROM satchel.memory WHERE id = 'theirs'"
    assert db.execute(query).fetchone() == (row.stamp.origin,)
    assert theirs.push(MEMORY, [row]).accepted == ("theirs",), "it knows its own"


def test_an_update_builds_on_what_was_there(hub: WarehouseHub, db: psycopg.Connection[Any]) -> None:
    before, after = pushed(hub, MEMORY, "upd", title="old", content="kept")
    db.execute("UPDATE satchel.memory SET title = 'new' WHERE id = 'upd'")
    row = changed(hub, MEMORY, after)["upd"]
    assert row.lineage == before.stamp.hex()
    assert row.stamp.life == before.stamp.life
    assert decide(before.version, row.version) is Verdict.REPLACE
    assert decide(row.version, before.version) is Verdict.KEEP
    for number in range(10):
        db.execute("UPDATE satchel.memory SET title = %s WHERE id = 'upd'", (str(number),))
    entries = lineage_of(changed(hub, MEMORY, after)["upd"].lineage)
    assert len(entries) == len(set(entries)) == 8
    assert list(entries) == sorted(entries, reverse=True)


def test_an_update_that_changes_nothing_makes_no_version(
    hub: WarehouseHub, db: psycopg.Connection[Any]
) -> None:
    before, after = pushed(hub, MEMORY, "noop", title="same")
    for change in ("title = title", "life = 5, hlc = 1, lineage = 'x', change_seq = 0"):
        done = db.execute(f"UPDATE satchel.memory SET {change} WHERE id = 'noop'".encode())
        assert done.rowcount == 1
    assert changed(hub, MEMORY, after) == {}
    assert hub.fetch(MEMORY, ["noop"]).rows == (before,)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_delete_leaves_a_tombstone(
    hub: WarehouseHub, db: psycopg.Connection[Any], table: Table
) -> None:
    name, tag = table.columns[0].name, table.columns[0].tag
    sample: dict[str, Value] = {"t": "x", "i": 1, "r": 1.0, "b": b"x"}
    values = titled(table, **{name: sample[tag]})
    before = row_of(table, "del", values)
    hub.push(table, [before])
    after = hub.bound()[table.name]
    for _ in range(2):
        db.execute(f"DELETE FROM satchel.{table.name} WHERE {table.key} = 'del'".encode())
    row = changed(hub, table, after)["del"]
    assert set(row.values) == {None}
    assert row.stamp.life == next_generation(before.stamp.life)
    assert row.stamp.dead
    assert hub.push(table, [before]).superseded == {"del": row.version}
    assert changed(hub, table, after + 1) == {}


def test_a_row_without_content_can_be_deleted_too(
    hub: WarehouseHub, db: psycopg.Connection[Any]
) -> None:
    db.execute("INSERT INTO satchel.space (name) VALUES ('bare')")
    db.execute("DELETE FROM satchel.space WHERE name = 'bare'")
    assert hub.fetch(SPACE, ["bare"]).rows[0].stamp.dead


def test_writing_over_a_tombstone_restores_the_row(
    hub: WarehouseHub, db: psycopg.Connection[Any]
) -> None:
    before, after = pushed(hub, MEMORY, "res", title="old")
    db.execute("DELETE FROM satchel.memory WHERE id = 'res'")
    db.execute("UPDATE satchel.memory SET title = 'back' WHERE id = 'res'")
    row = changed(hub, MEMORY, after)["res"]
    assert row.stamp.life == next_generation(next_generation(before.stamp.life))
    assert len(lineage_of(row.lineage)) == 2


def test_ends_of_a_task_are_counted(hub: WarehouseHub, db: psycopg.Connection[Any]) -> None:
    before, _ = pushed(hub, TASK, "task", status="pending")
    life = before.stamp.life
    for status, counts in (
        ("in_progress", False), ("completed", True), ("completed", False), ("failed", True),
        (None, True), ("blocked", False), ("cancelled", True),
    ):  # fmt: skip
        db.execute("UPDATE satchel.task SET status = %s WHERE id = 'task'", (status,))
        life = next_end(life) if counts else life
        assert hub.fetch(TASK, ["task"]).rows[0].stamp.life == life


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE satchel.memory SET title = 'x' WHERE id = 'gone'", "was forgotten"),
        ("DELETE FROM satchel.memory WHERE id = 'gone'", "was forgotten"),
        ("UPDATE satchel.memory SET id = 'other' WHERE id = 'fixed'", "a key never changes"),
        (
            "UPDATE satchel.memory SET tenant = 'else' WHERE id = 'fixed'",
            "a key never changes|no tenant",
        ),
        ("UPDATE satchel.memory SET local = 1 WHERE id = 'fixed'", "the row is local"),
        ("UPDATE satchel.memory SET importance = 'NaN' WHERE id = 'fixed'", "not finite"),
        ("INSERT INTO satchel.memory (id, local) VALUES ('x', 2)", "the row is local"),
        ("INSERT INTO satchel.memory (id, local) VALUES ('x', -1)", "the row is local"),
        ("INSERT INTO satchel.memory (id) VALUES (repeat('ä', 513))", "larger than 1024 bytes"),
        ("INSERT INTO satchel.memory (id) VALUES ('')", "the key is empty"),
        ("INSERT INTO satchel.memory (id, extra) VALUES ('x', 'no json')", "no list of columns"),
        ("INSERT INTO satchel.memory (tenant, id) VALUES ('nobody', 'x')", "no tenant 'nobody'"),
        ("TRUNCATE satchel.memory", "cannot be truncated"),
    ],
)
def test_what_psql_may_not_do(
    hub: WarehouseHub, db: psycopg.Connection[Any], statement: str, told: str
) -> None:
    hub.push(MEMORY, [Row("gone", SCRUBBED, "", titled(MEMORY))])
    pushed(hub, MEMORY, "fixed", title="x")
    with pytest.raises(psycopg.Error, match=told):
        db.execute(statement.encode())


def test_the_owner_is_stamped_too(hub: WarehouseHub, db: psycopg.Connection[Any]) -> None:
    """Without the door's own flag; `SET ROLE satchel_owner` alone does not switch triggers off."""
    before, after = pushed(hub, MEMORY, "own", title="old")
    with db.transaction():
        db.execute("SET LOCAL ROLE satchel_owner")
        db.execute("UPDATE satchel.memory SET title = 'new' WHERE id = 'own'")
    assert changed(hub, MEMORY, after)["own"].lineage == before.stamp.hex()


def test_many_rows_in_one_statement(hub: WarehouseHub, db: psycopg.Connection[Any]) -> None:
    after = hub.bound()["memory"]
    db.execute(
        "INSERT INTO satchel.memory (id, title) SELECT 'many ' || n, n::text"
        " FROM generate_series(1, 300) n"
    )
    rows = changed(hub, MEMORY, after)
    assert len(rows) == 300
    assert len({row.stamp.hlc for row in rows.values()}) == 300
    db.execute("DELETE FROM satchel.memory WHERE id LIKE 'many %'")
    assert all(row.stamp.dead for row in changed(hub, MEMORY, after).values())
