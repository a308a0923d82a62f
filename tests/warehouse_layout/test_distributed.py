"""The tables could be spread over servers by tenant: Citus' rules, read from the catalogs.

Each table is either distributed by its column `tenant`, or a reference table that every server has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, fresh_hub
from fix_partitioned import PARTITIONS

from satchel_warehouse import partitions

REFERENCE = {
    "alembic_version": "one row",
    "hub": "one row",
    "tenant": "a row for each tenant",
    "login": "a row for each login: a session finds its tenant here before it has one",
    "replica": "a row for each machine, whose id is unique over all tenants",
    "operation": "what keepers did to the warehouse as a whole",
}
"""Tables that every server has, and why they are small and of no one tenant."""

DRAWN_FROM_ONE = {
    "satchel.token.number": "compared within one machine",
    "satchel.turn_vector.seq": "compared within one tenant",
}
"""Columns of one sequence, and why it could be several; docs/DISTRIBUTED.md says what for."""

TABLES = """
SELECT relname, EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant'
    AND attnotnull AND NOT attisdropped AND format_type(atttypid, atttypmod) = 'text'
    AND attcollation = (SELECT oid FROM pg_collation WHERE collname = 'C'))
FROM pg_class c WHERE relnamespace = 'satchel'::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition ORDER BY relname
"""
UNIQUE = """
SELECT t.relname, x.relname, i.indisprimary,
    ARRAY(SELECT attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum ORDER BY place)
FROM pg_index i JOIN pg_class t ON t.oid = indrelid JOIN pg_class x ON x.oid = indexrelid
WHERE t.relnamespace = 'satchel'::regnamespace AND (indisunique OR indisexclusion)
    AND NOT t.relispartition ORDER BY 1, 2
"""
FOREIGN = """
SELECT conname, conrelid::regclass::text, confrelid::regclass::text,
    ARRAY(SELECT f.attname || '=' || t.attname FROM unnest(conkey, confkey) AS k (one, other)
        JOIN pg_attribute f ON f.attrelid = conrelid AND f.attnum = one
        JOIN pg_attribute t ON t.attrelid = confrelid AND t.attnum = other)
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'satchel'::regnamespace
    AND conparentid = 0 ORDER BY 1
"""
DRAWN = """
SELECT attrelid::regclass::text || '.' || attname FROM pg_attribute
JOIN pg_class c ON c.oid = attrelid AND relnamespace = 'satchel'::regnamespace
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attidentity <> '' OR pg_get_expr(adbin, adrelid) LIKE 'nextval(%' ORDER BY 1
"""


@pytest.fixture(scope="module")
def plain(cluster: str) -> Iterator[psycopg.Connection[Any]]:
    """A warehouse without partitions, as every other is."""
    with fresh_hub(cluster) as world:
        yield world.psql()


def faults(db: psycopg.Connection[Any]) -> list[str]:
    """What keeps the tables from being spread by tenant."""
    tables = dict(db.execute(TABLES).fetchall())
    found = [
        f"{name} has no tenant and is no reference table"
        for name, has_tenant in tables.items()
        if not has_tenant and name not in REFERENCE
    ]
    spread = tables.keys() - REFERENCE.keys()
    keyed = set()
    for table, index, is_primary, columns in db.execute(UNIQUE).fetchall():
        keyed |= {table} if is_primary else set()
        if table in spread and "tenant" not in columns:
            found.append(f"{index} of {table} has no tenant in it")
    found += [f"{name} has no primary key" for name in tables if name not in keyed]
    for name, table, other, columns in db.execute(FOREIGN).fetchall():
        source, target = (one.removeprefix("satchel.") for one in (table, other))
        if target not in REFERENCE and "tenant=tenant" not in columns:
            found.append(f"{name} leads from {source} to other tenants' {target}")
    for (column,) in db.execute(DRAWN).fetchall():
        if column.split(".")[1] in spread and column not in DRAWN_FROM_ONE:
            found.append(f"{column} is drawn from one sequence of all tenants")
    return found


def test_every_table_can_be_spread_by_tenant(plain: psycopg.Connection[Any]) -> None:
    assert faults(plain) == []


def test_what_is_left_out_is_there(plain: psycopg.Connection[Any]) -> None:
    tables = {name for name, _ in plain.execute(TABLES)}
    assert REFERENCE.keys() - tables == set()
    assert {column for (column,) in plain.execute(DRAWN)} >= DRAWN_FROM_ONE.keys()


def test_partitions_keep_to_the_rules(world: HubWorld) -> None:
    db = world.psql()
    names = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY 1"
    assert [name for (name,) in db.execute(names)] == sorted(
        f"{kind}_p{part}" for kind in partitions.PARTITIONED for part in range(PARTITIONS)
    )
    assert faults(db) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("CREATE TABLE satchel.mine (id text PRIMARY KEY)",
         "mine has no tenant and is no reference table"),
        ("CREATE TABLE satchel.mine (tenant text NOT NULL, id text, PRIMARY KEY (tenant, id))",
         "mine has no tenant and is no reference table"),
        ('CREATE TABLE satchel.mine (tenant text COLLATE "C" NOT NULL)',
         "mine has no primary key"),
        ("ALTER TABLE satchel.task DROP CONSTRAINT task_pkey, ADD PRIMARY KEY (id)",
         "task_pkey of task has no tenant in it"),
        ("CREATE UNIQUE INDEX once ON satchel.memory (title)",
         "once of memory has no tenant in it"),
        ("ALTER TABLE satchel.memory ADD EXCLUDE (title WITH =)",
         "memory_title_excl of memory has no tenant in it"),
        ("ALTER TABLE satchel.task ADD mine bigint GENERATED ALWAYS AS IDENTITY",
         "satchel.task.mine is drawn from one sequence of all tenants"),
        ("ALTER TABLE satchel.task ADD CONSTRAINT far FOREIGN KEY (scope, title)"  # noqa: ISC004
         " REFERENCES satchel.memory (tenant, id)",
         "far leads from task to other tenants' memory"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(
    plain: psycopg.Connection[Any], change: str, fault: str
) -> None:
    with plain.transaction(force_rollback=True):
        plain.execute(change.encode())
        assert fault in faults(plain)
