"""The hub's SQL decides as `satchel_sync.merge` does, on histories that machines can reach."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import psycopg
from fix_hub import HubWorld, hello_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel_sync.changes import Row, Version
from satchel_sync.digest import row_digest
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.merge import decide
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp, extend, next_generation
from satchel_sync.tables import AGENT, MEMORY, Table, Value
from satchel_warehouse.endpoint import WarehouseHub

RELAXED = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MACHINES = tuple(bytes([number]) * 16 for number in (1, 2, 3))
VERDICT = "SELECT satchel.verdict(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


@dataclass
class History:
    """Versions of one row as three machines could have made them, each on top of an earlier one."""

    table: Table
    key: str
    rows: list[Row] = field(default_factory=list)

    def grow(self, base: int, machine: int, wall: int, deed: str) -> None:
        held = self.rows[base % len(self.rows)] if self.rows else None
        if held is not None and held.stamp == SCRUBBED:
            return
        if deed == "forget":
            self.rows.append(Row(self.key, SCRUBBED, "", self._values(None)))
            return
        life = held.stamp.life if held else CREATED
        dies = deed == "delete" and held is not None and not held.stamp.dead
        if held is not None and (held.stamp.dead or dies):
            life = next_generation(life)
        values = self._values(None if dies or (held is None and deed == "delete") else deed)
        # A restamp gives an old content a lower stamp than its base: that makes beaten versions.
        hlc = wall if deed == "restamp" else max(wall, (held.stamp.hlc if held else 0) + 1)
        stamp = Stamp(life, hlc, bytes([machine]) * 16, row_digest(self.table, self.key, values))
        lineage = extend(held.lineage, held.stamp) if held else ""
        self.rows.append(Row(self.key, stamp, lineage, values))

    def _values(self, text: str | None) -> tuple[Value, ...]:
        column = self.table.columns[0].name
        return (*(text if name == column else None for name in self.table.names), None)


deeds = st.tuples(
    st.integers(0, 9), st.integers(1, 3), st.integers(1, 40),
    st.sampled_from(["x", "y", "z", "delete", "restamp", "x", "y", "forget"]),
)  # fmt: skip


class StillClock:
    def now_ms(self) -> int:
        return 1_000_000


@RELAXED
@given(steps=st.lists(deeds, min_size=1, max_size=9))
def test_sql_decides_as_python_does(
    world: HubWorld, steps: list[tuple[int, int, int, str]]
) -> None:
    history = History(MEMORY, "k")
    for step in steps:
        history.grow(*step)
    db = _session(world)
    held: list[Version | None] = [None, *(row.version for row in history.rows)]
    pairs = list(itertools.product(held, history.rows))
    with db.cursor() as cursor:
        for mine, row in pairs:
            stored = (*mine.stamp, mine.lineage) if mine else (None,) * 5
            found = cursor.execute(VERDICT, (*stored, *row.stamp, row.lineage)).fetchone()
            assert found == (decide(mine, row.version).value,)


@RELAXED
@given(steps=st.lists(deeds, min_size=1, max_size=9), table=st.sampled_from([MEMORY, AGENT]),
       order=st.randoms(use_true_random=False))  # fmt: skip
def test_pushes_end_as_on_the_hub_in_memory(
    world: HubWorld, steps: list[tuple[int, int, int, str]], table: Table, order: Random
) -> None:
    counter.append(0)
    history = History(table, f"history {len(counter)}")
    for step in steps:
        history.grow(*step)
    rows = list(history.rows)
    order.shuffle(rows)
    real, model = _hub(world), MemoryHub(StillClock())
    model.hello(replace(hello_of(1, "attempt"), predecessors=MACHINES))
    for row in rows:
        mine, theirs = real.push(table, [row]), model.push(table, [row])
        assert (mine.accepted, dict(mine.superseded)) == (theirs.accepted, dict(theirs.superseded))
        assert mine.conflicts == theirs.conflicts
    assert real.fetch(table, [history.key]).rows == model.fetch(table, [history.key]).rows


counter: list[int] = []


def _hub(world: HubWorld) -> WarehouseHub:
    if not world.hubs:
        world.know(*MACHINES)
        world.replica(1)
    return world.hubs[0]


def _session(world: HubWorld) -> psycopg.Connection[Any]:
    return world.sessions[0] if world.sessions else world.psql()
