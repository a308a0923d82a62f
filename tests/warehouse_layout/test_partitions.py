"""A new warehouse may have hash partitions; an older one's rows can be moved into such a one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from fix_command import run
from fix_hub import ORIGIN, HubWorld, fresh_database, row_of, titled
from fix_partitioned import PARTITIONS
from fix_psql import Administrator
from fix_servers import NEEDS_POSTGRES

from satchel_sync.tables import MEMORY, TABLES
from satchel_warehouse import admin
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.partitions import PARTITIONED, PARTITIONS_MAX

PAGE = Path(__file__).parents[2] / "docs" / "DISTRIBUTED.md"
RULES = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
    ARRAY(SELECT (policyname, permissive, roles, cmd, qual, with_check)::text FROM pg_policies
        WHERE schemaname = 'satchel' AND tablename = c.relname ORDER BY policyname),
    ARRAY(SELECT replace(regexp_replace(pg_get_triggerdef(t.oid), ' ON satchel\\.\\w+ ', ' '),
            'CREATE TRIGGER', '') FROM pg_trigger t WHERE tgrelid = c.oid ORDER BY tgname)
FROM pg_class c WHERE relnamespace = 'satchel'::regnamespace AND relkind IN ('r', 'p')
    AND relname ~ ('^' || %s || '(_p[0-9]+)?$') ORDER BY relname
"""


@pytest.mark.parametrize("parts", [-1, 1, PARTITIONS + 1, PARTITIONS_MAX + 1])
def test_their_number_stays(world: HubWorld, parts: int) -> None:
    with pytest.raises(WarehouseRefused) as caught:
        admin.init(world.dsn, partitions=parts)
    assert ("keeps them" in str(caught.value)) == (parts == PARTITIONS + 1)


def test_init_may_be_repeated_with_or_without_them(world: HubWorld) -> None:
    with_them = admin.init(world.dsn, partitions=PARTITIONS)
    assert admin.init(world.dsn) == with_them
    found = world.psql().execute("SELECT count(*) FROM pg_inherits WHERE inhparent ="
                                 " 'satchel.chatlog'::regclass").fetchone()  # fmt: skip
    assert found == (PARTITIONS,)


def test_the_command_asks_for_them(cluster: str) -> None:
    with fresh_database(cluster) as dsn:
        told = {"SATCHEL_WAREHOUSE_ADMIN_DSN": dsn}
        refused = run("warehouse", "init", "--partitions", "1", **told)
        assert (refused.code, "2 to 64, or none" in refused.err) == (4, True)
        assert run("warehouse", "init", "--partitions", "65", **told).code == 2
        assert run("warehouse", "init", "--partitions", "2", **told).code == 0
        with psycopg.connect(dsn) as db:
            found = db.execute("SELECT relname FROM pg_class WHERE relispartition AND"
                               " relname ~ '^memory_p[0-9]+$' ORDER BY 1")  # fmt: skip
            assert found.fetchall() == [("memory_p0",), ("memory_p1",)]


@NEEDS_POSTGRES
def test_tables_that_are_there_get_none(dba: Administrator) -> None:
    dba.anew()
    admin.init(dba.dsn)
    with pytest.raises(WarehouseRefused, match="tables without partitions") as caught:
        admin.init(dba.dsn, partitions=PARTITIONS)
    assert "docs/DISTRIBUTED.md" in caught.value.hint


@pytest.mark.parametrize("kind", PARTITIONED)
def test_a_partition_is_guarded_as_its_table(world: HubWorld, kind: str) -> None:
    (_, forced, policies, triggers), *parts = world.psql().execute(RULES, (kind,)).fetchall()
    assert len(parts) == PARTITIONS
    assert forced
    assert policies
    assert len(triggers) >= 3
    assert [part[1:] for part in parts] == [(True, policies, triggers)] * PARTITIONS


def test_sql_at_a_partition_is_stamped_and_travels(world: HubWorld) -> None:
    hub, db = world.replica(1), world.psql()
    keys = [f"k{number}" for number in range(20)]
    hub.push(MEMORY, [row_of(MEMORY, key, titled(MEMORY, title="x")) for key in keys])
    after = hub.bound()["memory"]
    db.execute("UPDATE satchel.memory_p1 SET title = 'y'")
    db.execute("DELETE FROM satchel.memory_p0")
    changed = hub.pull(MEMORY, after, hub.bound()["memory"]).rows
    dead = {row.key for row in changed if row.stamp.dead}
    edited = {row.key for row in changed if row.values[MEMORY.names.index("title")] == "y"}
    assert dead
    assert edited
    assert dead.isdisjoint(edited)
    assert len(dead | edited) == len(changed) < len(keys)
    with pytest.raises(psycopg.Error, match="cannot be truncated"):
        db.execute("TRUNCATE satchel.memory_p2")
    mine = world.psql(world.login())
    for statement in ("SELECT * FROM satchel.memory_p0", "DELETE FROM satchel.memory_p0"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            mine.execute(statement.encode())


@NEEDS_POSTGRES
def test_the_rows_of_a_warehouse_move_into_one_with_partitions(dba: Administrator) -> None:
    """The walk-through of docs/DISTRIBUTED.md as it stands there, on the warehouse of version 4."""
    dba.anew()
    dba.load_version_4()
    dba.psql("init.sql")
    columns = {name: of for name, of in dba.columns().items() if name != "satchel.digest_part"}
    rows, sums = dba.rows(columns), buckets(dba)
    assert dba.bash(walk_through().replace("deploy/sql", str(dba.scripts))) == ""
    new = replace(dba, database="memory_new")
    assert new.rows(columns) == rows
    assert buckets(new) == sums
    world = HubWorld(new.dsn)
    hub = world.replica(7)
    world.know(ORIGIN)
    seqs = hub.bound()
    hub.push(MEMORY, [row_of(MEMORY, "new", titled(MEMORY, title="x"))])
    assert hub.bound()["memory"] == max(seqs.values()) + 1, "the sequence goes on where it was"
    world.close()
    new.drop()


def walk_through() -> str:
    """The commands of the page."""
    section = PAGE.read_text("utf-8").partition("### Moving a warehouse")[2]
    return section.partition("```sh\n")[2].partition("```")[0]


def buckets(dba: Administrator) -> list[object]:
    """The sums of a digest check."""
    with psycopg.connect(dba.dsn) as db:
        return [
            db.execute(
                f"SELECT b::text FROM satchel.buckets_{table.name}('default', '{{}}') b"
                " ORDER BY 1".encode()
            ).fetchall()
            for table in TABLES
        ]
