"""The hub's tables are what the metadata says, and the metadata what `TABLES` says."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from fix_hub import HubWorld, fresh_database

from satchel_sync.tables import TABLES, Table
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
