"""Every column of every kind, on insert and alone on update, over two real machines and a hub.

The columns come from `TABLES`: a new one without its migrations, or forgotten on the way, fails.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from fix_held import Held, hub_holds, replica_holds
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_sync import BY_TAG
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from satchel.store import rows
from satchel_sync.digest import format_extra, value_bytes
from satchel_sync.tables import TABLES, Table, Value

FEW = settings(
    deadline=None,
    max_examples=2,
    phases=[Phase.explicit, Phase.generate],  # an example takes a second: no shrinking
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FIXED = {"memory": {"local"}}
"""Kind -> columns that are not set: a local row never travels."""
TOGETHER = {"embedding": ("dims", "dtype", "vector")}
"""Kind -> columns that fit each other or cannot travel, so they change at once."""
DERIVED = {"memory": {"content_hash"}}
"""Kind -> columns that sealing puts right where there is, or was, a content."""
numbers = itertools.count()


@pytest.fixture(scope="module")
def fleet(world: HubWorld, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two machines that stay for all examples."""
    fleet = Fleet(world, Path(tmp_path_factory.mktemp("fleet")))
    fleet.pair()
    try:
        yield fleet
    finally:
        fleet.close()


def columns_of(table: Table) -> list[tuple[str, ...]]:
    """What is changed at once: each column alone, but for those that have to fit each other."""
    together = TOGETHER.get(table.name, ())
    fixed = FIXED.get(table.name, set())
    alone = [(name,) for name in table.names if name not in fixed and name not in together]
    return [*alone, *([together] if together else [])]


@st.composite
def some(draw: st.DrawFn, table: Table, names: tuple[str, ...]) -> dict[str, Value]:
    """A value for each of these columns, none of them NULL."""
    tags = {column.name: column.tag for column in table.columns}
    found = {name: draw(BY_TAG[tags[name]]) for name in names}
    if "vector" in names:
        vector = draw(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)))
        packed = struct.pack(f"<{len(vector)}f", *vector)
        found |= {"dims": len(vector), "dtype": "f32", "vector": packed}
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@FEW
@given(data=st.data())
def test_every_column_travels_on_insert_and_alone_on_update(
    fleet: Fleet, table: Table, data: st.DataObject
) -> None:
    a, b = fleet.pair()
    every = columns_of(table)
    parts = [*every, *every]
    keys = [f"{table.name}-{next(numbers)}" for _ in parts]
    whole = tuple(itertools.chain(*every))
    full = [data.draw(some(table, names)) for names in (*[whole] * len(every), *every)]
    with a.store.write() as db:
        for key, columns in zip(keys, full, strict=True):
            rows.insert(db, table.row(**{table.key: key, **columns}))
    meet(fleet, table, dict(zip(keys, full, strict=True)))

    for writer in (a, b):
        changed = [data.draw(some(table, part)) for part in parts]
        with writer.store.write() as db:
            for key, columns in zip(keys, changed, strict=True):
                change(db, table, key, columns)
        full = [was | new for was, new in zip(full, changed, strict=True)]
        meet(fleet, table, dict(zip(keys, full, strict=True)))

    with b.store.write() as db:
        for key, part in zip(keys, parts, strict=True):
            change(db, table, key, dict.fromkeys(part))
    emptied = [was | dict.fromkeys(part) for was, part in zip(full, parts, strict=True)]
    meet(fleet, table, dict(zip(keys, emptied, strict=True)))


def change(db: apsw.Connection, table: Table, key: str, columns: dict[str, Any]) -> None:
    """Set these columns and no others."""
    settings = ", ".join(f"{name} = ?" for name in columns)
    db.execute(
        f"UPDATE {table.name} SET {settings} WHERE {table.key} = ?", (*columns.values(), key)
    )


def meet(fleet: Fleet, table: Table, written: dict[str, dict[str, Any]]) -> None:
    """Sync both ways; then hub and machines hold what was written, bit for bit."""
    a, b = fleet.pair()
    for machine in (a, b, a, b):
        assert machine.sync()["exit"] == 0
    holdings = [held(a), held(b), hub_holds(fleet.world.dsn)]
    for key, columns in written.items():
        first, *others = (holding[table.name, key] for holding in holdings)
        assert all((other.stamp, other.content) == (first.stamp, first.content) for other in others)
        expected = contents(table, columns)
        for name in (
            DERIVED.get(table.name, set()) & expected.keys() if "content" in columns else ()
        ):
            expected[name] = first.content[name]
        assert first.content == expected
        assert first.digest == first.stamp.digest


def held(machine: Machine) -> dict[tuple[str, str], Held]:
    """What lies in a machine's file."""
    return replica_holds(machine.store.home)


def contents(table: Table, columns: dict[str, Any]) -> dict[str, tuple[str, bytes]]:
    """Columns as canonical bytes have them."""
    tags = {column.name: column.tag for column in table.columns}
    return {
        name: (tags[name], value_bytes(tags[name], value))
        for name, value in columns.items()
        if value is not None
    }


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_that_nobody_here_knows_travel_in_every_kind(fleet: Fleet, table: Table) -> None:
    a, b = fleet.pair()
    key, later = f"{table.name}-unknown", {"later": ("t", b"word"), "more": ("r", bytes(8))}
    with a.store.write() as db:
        rows.insert(db, table.row(**{table.key: key}))
        db.execute(
            f"UPDATE {table.name} SET extra = ? WHERE {table.key} = ?", (format_extra(later), key)
        )
    for machine in (a, b):
        assert machine.sync()["exit"] == 0
    for holding in (held(a), held(b), hub_holds(fleet.world.dsn)):
        assert holding[table.name, key].content == later


def test_a_column_without_a_rule_is_found() -> None:
    """The test above draws every column that a row has, but for `local`."""
    for table in TABLES:
        drawn = {name for part in columns_of(table) for name in part}
        assert drawn | FIXED.get(table.name, set()) == set(table.names)
