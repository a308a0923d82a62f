"""The system's own Postgres (15 on Debian 12): the same migrations, doors and triggers work."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld, fresh_hub, row_of, titled

from satchel_sync.digest import row_digest
from satchel_sync.tables import MEMORY, TABLES, Table
from satchel_warehouse import admin
from satchel_warehouse.serve_embedded import running

SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
pytestmark = pytest.mark.skipif(not SERVERS, reason="needs the system package postgresql")


@pytest.fixture(scope="module")
def world() -> Iterator[HubWorld]:
    folder = Path(tempfile.mkdtemp(prefix="satchel_test_"))
    try:
        old = running(folder / "old", settings={"fsync": "off"}, programs=SERVERS[0])
        with old as (served, _), fresh_hub(served.dsn) as world:
            yield world
    finally:
        shutil.rmtree(folder)


def test_it_is_the_old_server(world: HubWorld) -> None:
    major = admin.status(world.dsn).server.partition(".")[0]
    assert (major, int(major) >= 15) == (SERVERS[0].parent.name, True)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_go_and_come(world: HubWorld, table: Table) -> None:
    hub = world.replica(100 + TABLES.index(table))
    after = hub.bound()[table.name]
    rows = [row_of(table, f"row {n}", titled(table)) for n in range(30)]
    for _ in range(2):
        assert len(hub.push(table, rows).accepted) == 30
    found = hub.pull(table, after, hub.bound()[table.name]).rows
    assert {row.key: row for row in found} == {row.key: row for row in rows}


def test_psql_edits_travel(world: HubWorld) -> None:
    hub = world.replica(1)
    before = row_of(MEMORY, "by hand", titled(MEMORY, title="old"))
    hub.push(MEMORY, [before])
    world.psql().execute("UPDATE satchel.memory SET title = 'ünï' WHERE id = 'by hand'")
    (row,) = hub.fetch(MEMORY, ["by hand"]).rows
    assert row.lineage == before.stamp.hex()
    assert row.stamp.digest == row_digest(MEMORY, row.key, row.values)
    world.psql().execute("DELETE FROM satchel.memory WHERE id = 'by hand'")
    assert hub.fetch(MEMORY, ["by hand"]).rows[0].stamp.dead
