"""The hub's tables are what the metadata says, and the metadata what `TABLES` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from fix_hub import HubWorld, fresh_database, hello_of, row_of, titled
from psycopg import conninfo

from satchel_sync.changes import Standing
from satchel_sync.tables import MEMORY, TABLES, Table
from satchel_sync.version import PROTOCOL
from satchel_warehouse import admin
from satchel_warehouse.database import connect, sqlalchemy
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseError, WarehouseNotMigrated
from satchel_warehouse.metadata import metadata

PG_TYPES = {"t": "text", "i": "bigint", "r": "double precision", "b": "bytea"}


def differences(dsn: str) -> list[Any]:
    def ours(name: str | None, kind: str, parents: Any) -> bool:
        return name == "satchel" if kind == "schema" else name != "alembic_version"

    options = {"include_schemas": True, "include_name": ours, "compare_server_default": True}
    with connect(dsn, path="warehouse.admin") as db, sqlalchemy(db) as wrapped:
        return list(compare_metadata(MigrationContext.configure(wrapped, opts=options), metadata))


def test_migrations_make_what_the_metadata_says(world: HubWorld) -> None:
    assert differences(world.dsn) == []


def test_a_column_that_no_migration_makes_is_found(world: HubWorld) -> None:
    db = world.psql()
    db.execute("ALTER TABLE satchel.memory DROP COLUMN title, ALTER hlc DROP NOT NULL")
    try:
        assert len(differences(world.dsn)) == 2
    finally:
        db.execute('ALTER TABLE satchel.memory ADD title text COLLATE "C", ALTER hlc SET NOT NULL')


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_synced_table_has_every_column_of_its_kind(world: HubWorld, table: Table) -> None:
    found = world.psql().execute(
        "SELECT column_name, data_type, is_nullable, collation_name"
        " FROM information_schema.columns WHERE table_schema = 'satchel' AND table_name = %s",
        (table.name,),
    )
    columns = {name: (kind, nullable, collation) for name, kind, nullable, collation in found}
    for column in table.columns:
        collation = "C" if column.tag == "t" else None
        assert columns[column.name] == (PG_TYPES[column.tag], "YES", collation)
    assert columns[table.key] == ("text", "NO", "C")


def test_init_and_migrate_may_be_repeated(world: HubWorld) -> None:
    before = admin.status(world.dsn)
    assert admin.init(world.dsn).hub_id == before.hub_id
    assert admin.migrate(world.dsn).hub_id == before.hub_id


@pytest.mark.parametrize("command_of", [admin.init, admin.migrate])
def test_doors_and_their_version_come_in_one_transaction(
    hub_world: HubWorld, command_of: Callable[[str], admin.Status]
) -> None:
    """Stopped at the version, nothing was done: new doors of an old version let nobody in."""
    db = hub_world.psql()
    db.execute("UPDATE satchel.hub SET protocol = 1, schema = 1")
    db.execute("DROP FUNCTION satchel_api.now_ms()")
    db.execute(
        "CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE EXCEPTION 'stopped here' USING ERRCODE = 'P0001'; END $$"
    )
    db.execute(
        "CREATE TRIGGER stop BEFORE UPDATE ON satchel.hub"
        " FOR EACH ROW EXECUTE FUNCTION public.stop()"
    )
    with pytest.raises(WarehouseError, match="stopped here"):
        command_of(hub_world.dsn)
    doors = "SELECT to_regprocedure('satchel_api.now_ms()') IS NULL, protocol FROM satchel.hub"
    assert db.execute(doors).fetchone() == (True, 1)
    db.execute("DROP TRIGGER stop ON satchel.hub; DROP FUNCTION public.stop()")
    assert command_of(hub_world.dsn).protocol == PROTOCOL
    assert db.execute(doors).fetchone() == (False, PROTOCOL)


OLDER = """
INSERT INTO satchel.hub (hub_id, protocol, schema) VALUES (decode(repeat('ee', 16), 'hex'), 1, 1);
INSERT INTO satchel.tenant (name) VALUES ('default');
CREATE SEQUENCE satchel.change_seq_1;
INSERT INTO satchel.login VALUES (current_setting('test.login'), 'default', 5);
INSERT INTO satchel.replica VALUES
    (decode(repeat('01', 16), 'hex'), current_setting('test.login'), 'h', 'v', 5, 6, NULL);
INSERT INTO satchel.attempt (attempt, replica_id, started_at, finished_at, delivered, report) VALUES
    ('first', decode(repeat('01', 16), 'hex'), 5, 5, '{"memory": 3, "task": 9}', '{"ok": true}'),
    ('then', decode(repeat('01', 16), 'hex'), 6, NULL, '{"memory": 7}', NULL);
INSERT INTO satchel.memory (tenant, id, title, life, hlc, origin, digest, lineage, change_seq,
    schema_ver, received_at, pushed_by)
SELECT 'default', 'm' || n, 'title ' || n, 65536, n, decode(repeat('01', 16), 'hex'),
    decode(repeat('dd', 8), 'hex'), '', nextval('satchel.change_seq_1'), 1, 5,
    decode(repeat('01', 16), 'hex') FROM generate_series(1, 7) AS n;
CREATE FUNCTION satchel.caller(_attempt text, OUT tenant text, OUT replica_id bytea)
LANGUAGE sql AS $$ SELECT 'default', ''::bytea $$;
"""


def older(dsn: str, login: str) -> None:
    """A warehouse of the first revision with rows, a replica and its reports."""
    admin.init(dsn)
    with connect(dsn, path="warehouse.admin") as db:
        db.execute("DROP SCHEMA satchel CASCADE; DROP SCHEMA satchel_api CASCADE;")
        db.execute("CREATE SCHEMA satchel AUTHORIZATION satchel_owner")
        with sqlalchemy(db) as wrapped:
            db.execute("SET LOCAL ROLE satchel_owner")
            command.upgrade(admin.alembic_config(wrapped), "0001")
            db.execute("SELECT set_config('test.login', %s, true)", (login,))
            db.execute(OLDER.encode())


def test_a_warehouse_of_the_first_revision_keeps_what_it_has(cluster: str, world: HubWorld) -> None:
    login = conninfo.conninfo_to_dict(world.login())["user"]
    with fresh_database(cluster) as dsn, psycopg.connect(dsn, autocommit=True) as db:
        older(dsn, str(login))
        before = db.execute("SELECT m::text FROM satchel.memory m ORDER BY id").fetchall()
        status = admin.migrate(dsn)
        assert db.execute("SELECT m::text FROM satchel.memory m ORDER BY id").fetchall() == before
        assert (status.hub_id, list(status.epochs)) == ("ee" * 16, ["default"])
        assert len(bytes.fromhex(status.epochs["default"])) == 8
        assert (status.protocol, status.rows["memory"]["alive"]) == (PROTOCOL, 7)
        assert differences(dsn) == []
        assert db.execute("SELECT attempt, report FROM satchel.attempt ORDER BY 1").fetchall() == [
            ("first", '{"ok": true}'), ("then", None),
        ]  # fmt: skip
        found = db.execute("SELECT delivered, predecessors, token_number FROM satchel.replica")
        assert found.fetchall() == [({"memory": 7, "task": 9}, [], 0)]
        tenants = "SELECT tenant FROM satchel.replica UNION ALL SELECT tenant FROM satchel.attempt"
        assert db.execute(tenants).fetchall() == [("default",)] * 3
        assert db.execute("SELECT kind FROM satchel.login").fetchall() == [("replica",)]
        with WarehouseHub(conninfo.make_conninfo(dsn, user=login)) as hub:
            hello = replace(hello_of(1, "next"), cursors={"memory": 7, "task": 9})
            assert hub.hello(hello).standing is Standing.KNOWN
            hub.push(MEMORY, [row_of(MEMORY, "new", titled(MEMORY, title="x"))])
            assert [row.key for row in hub.pull(MEMORY, 7, hub.bound()["memory"]).rows] == ["new"]
        assert admin.migrate(dsn).epochs == status.epochs


def test_an_empty_database_names_the_remedy(cluster: str) -> None:
    with fresh_database(cluster) as dsn:
        for call in (admin.status, admin.migrate):
            with pytest.raises(WarehouseNotMigrated) as caught:
                call(dsn)
            assert caught.value.exit_code == 13
            assert "satchel warehouse init" in caught.value.hint
        with WarehouseHub(dsn) as hub, pytest.raises(WarehouseError) as met:
            hub.now_ms()
        assert (met.value.exit_code, "init" in met.value.hint) == (13, True)
        with psycopg.connect(dsn) as db:
            assert db.execute("SELECT to_regnamespace('satchel')").fetchone() == (None,)
