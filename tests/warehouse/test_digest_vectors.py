"""One digest in Python and in SQL: both give what tests/vectors/digest says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fix_hub import HubWorld, row_of
from psycopg import sql

from satchel_sync.digest import value_of
from satchel_sync.tables import TABLES, Table, Value

FOLDER = Path(__file__).parents[1] / "vectors" / "digest"


def vectors(table: Table) -> list[tuple[str, tuple[Value, ...], bytes]]:
    found = json.loads((FOLDER / f"{table.name}.json").read_text("utf-8"))
    rows = []
    for vector in found["vectors"]:
        values = []
        for column in table.columns:
            packed = vector["values"].get(column.name)
            tag, _, digits = packed.partition(":") if packed else ("", "", "")
            values.append(value_of(tag, bytes.fromhex(digits)) if packed else None)
        digest = bytes.fromhex(vector["digest"])
        rows.append((vector["key"], (*values, vector["extra"]), digest))
    return rows


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_python_gives_the_vectors(table: Table) -> None:
    found = vectors(table)
    assert len(found) >= 9 + len(table.columns)
    for key, values, digest in found:
        assert row_of(table, key, values).stamp.digest == digest


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_sql_gives_the_vectors_and_so_does_a_row_written_by_hand(
    world: HubWorld, table: Table
) -> None:
    hub = world.replica(1 + TABLES.index(table))
    rows = [row_of(table, key, values) for key, values, _ in vectors(table)]
    assert len(hub.push(table, rows).accepted) == len(rows)
    names = {"kind": sql.Identifier("satchel", table.name), "key": sql.Identifier(table.key),
             "digest": sql.Identifier("satchel", f"digest_{table.name}")}  # fmt: skip
    query = sql.SQL("SELECT {key}, {digest}(t) FROM {kind} t").format(**names)
    wanted = {row.key: row.stamp.digest for row in rows}
    db = world.psql()
    assert dict(db.execute(query).fetchall()) == wanted
    columns = sql.SQL(", ").join(map(sql.Identifier, (table.key, *table.names, "extra")))
    marks = sql.SQL(", ").join([sql.SQL("%s")] * (len(table.columns) + 2))
    insert = sql.SQL("INSERT INTO {} (tenant, {}) VALUES ('by hand', {})").format(
        names["kind"], columns, marks
    )
    with db.transaction(), db.cursor() as cursor:
        # As the owner, whose sequence it then is.
        cursor.execute("SET LOCAL ROLE satchel_owner; SELECT satchel.add_tenant('by hand')")
    for row in rows:
        db.execute(insert, (row.key, *row.values))
    query = sql.SQL("SELECT {key}, digest FROM {kind} WHERE tenant = 'by hand'").format(**names)
    assert dict(db.execute(query).fetchall()) == wanted
