"""A migrated SQLite, a migrated Postgres and `TABLES` name the same columns, kinds and keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_hub import HubWorld

from satchel.store.connection import Store
from satchel_sync.tables import TABLES, Table

HUB_ONLY = {"tenant", "change_seq", "schema_ver", "received_at", "pushed_by"}
SQLITE_ONLY = {"row", "text_hash"}
SQLITE_TYPES = {"t": "TEXT", "i": "INTEGER", "r": "REAL", "b": "BLOB"}
POSTGRES_TYPES = {"t": "text", "i": "bigint", "r": "double precision", "b": "bytea"}
VERSION = {"life": "i", "hlc": "i", "origin": "b", "digest": "b", "lineage": "t"}


def expected(table: Table, types: dict[str, str]) -> dict[str, str]:
    """Column -> type of everything that travels."""
    tags = {table.key: "t", **{c.name: c.tag for c in table.columns}, "extra": "t", **VERSION}
    return {name: types[tag] for name, tag in tags.items()}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_sqlite_has_the_columns_of_the_table(tmp_path: Path, table: Table) -> None:
    with Store.open(tmp_path / "satchel.db") as store, store.read() as db:
        found = db.execute(f"SELECT name, type FROM pragma_table_info('{table.name}')").fetchall()
        required = db.execute(
            f"SELECT name FROM pragma_table_info('{table.name}') WHERE \"notnull\" AND NOT pk"
        ).fetchall()
    assert {n: t for n, t in found if n not in SQLITE_ONLY} == expected(table, SQLITE_TYPES)
    data = {column.name for column in table.columns}
    assert not data & {name for (name,) in required}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_postgres_has_the_columns_of_the_table(world: HubWorld, table: Table) -> None:
    found = (
        world.psql()
        .execute(
            "SELECT column_name, data_type, is_nullable = 'YES' FROM information_schema.columns"
            " WHERE table_schema = 'satchel' AND table_name = %s",
            (table.name,),
        )
        .fetchall()
    )
    types = {name: kind for name, kind, _ in found if name not in HUB_ONLY}
    assert types == expected(table, POSTGRES_TYPES)
    data = {column.name for column in table.columns}
    assert all(nullable for name, _, nullable in found if name in data)
