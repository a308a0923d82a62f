"""What hash partitions cost and give: pushes, pulls, digest checks, VACUUM of one large table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from bench.measure import in_turn, timed
from bench.page import Section
from fix_hub import ORIGIN, HubWorld, fresh_hub, row_of, titled

from satchel_sync.changes import Row
from satchel_sync.tables import MEMORY
from satchel_warehouse.endpoint import WarehouseHub

PARTITIONS = (0, 8, 32)
TIMES = 15
CONTENT_BYTES = 400
METHOD = f"""
One memory table of so many rows of {CONTENT_BYTES} bytes, without partitions and with so many hash
partitions; all in one embedded Postgres (fsync on, 128 MB of shared buffers) over a Unix socket.
Each figure is the least of {TIMES} calls in turn, in ms, so that what else the machine does counts
little. A first digest check hashes every version; a later one takes the sums that are kept.
VACUUM (FREEZE) is of the table and of its largest partition: what one worker does without a pause.
"""
FILL = """
INSERT INTO satchel.memory (tenant, id, title, content, life, hlc, origin, digest, lineage,
    change_seq, schema_ver, received_at, pushed_by)
SELECT 'default', md5(n::text), 'title ' || n, repeat(md5(n::text), %s), 65536, n, %s,
    substr(sha256(n::text::bytea), 1, 8), '', nextval('satchel.change_seq_1'), 1, n, %s
FROM generate_series(1, %s) AS n
"""
LARGEST = """
SELECT coalesce((SELECT inhrelid::regclass::text FROM pg_inherits
    WHERE inhparent = 'satchel.memory'::regclass
    ORDER BY pg_total_relation_size(inhrelid) DESC LIMIT 1), 'satchel.memory')
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The size is chosen on the command line."""
    metafunc.parametrize("count", [metafunc.config.getoption("memories")])


def bench_partitions(durable_cluster: str, count: int) -> None:
    columns = ("what", *(f"{parts} partitions" if parts else "none" for parts in PARTITIONS))
    section = Section("partitions", f"Hash partitions, {count:,} memories", METHOD, columns)
    with ExitStack() as stack:
        worlds = [stack.enter_context(fresh_hub(durable_cluster, parts)) for parts in PARTITIONS]
        hubs = []
        filled, first, vacuumed = [], [], []
        for world in worlds:
            filled.append(timed(lambda world=world: fill(world, count))[0])
            hubs.append(world.replica(1))
            vacuumed.append(vacuum(world))
            first.append(timed(lambda hub=hubs[-1]: hub.digests({"memory": []}))[0])
        for name, work in works(count).items():
            calls = {str(place): bound(work, hub) for place, hub in enumerate(hubs)}
            found = in_turn(calls, TIMES)
            section.add(name, *(f"{min(found[place].ms):.1f}" for place in calls))
        section.add("first digest check", *(f"{ms:.0f}" for ms in first))
        section.add("VACUUM (FREEZE), the longest", *(f"{ms:.0f}" for ms in vacuumed))
        section.add("fill by INSERT … SELECT", *(f"{ms:.0f}" for ms in filled))
    section.write()


def fill(world: HubWorld, count: int) -> None:
    """Rows past the triggers, as fast as the server takes them."""
    with world.psql() as db:
        db.execute("SET session_replication_role = replica")
        db.execute(FILL.encode(), (CONTENT_BYTES // 32, ORIGIN, ORIGIN, count))
        db.execute("ANALYZE satchel.memory")


def vacuum(world: HubWorld) -> float:
    """Of the largest table that holds rows, in ms."""
    with world.psql() as db:
        ((table,),) = db.execute(LARGEST.encode()).fetchall()
        return timed(lambda: db.execute(f"VACUUM (FREEZE) {table}".encode()))[0]


def works(count: int) -> dict[str, Callable[[WarehouseHub], object]]:
    """Name -> what a machine does."""
    made = iter(range(10**9))

    def rows(many: int) -> list[Row]:
        text = "x" * CONTENT_BYTES
        return [
            row_of(MEMORY, f"new {next(made)}", titled(MEMORY, content=text)) for _ in range(many)
        ]

    middle = count // 2
    return {
        "push of 1 new row": lambda hub: hub.push(MEMORY, rows(1)),
        "push of 1,000 new rows": lambda hub: hub.push(MEMORY, rows(1000)),
        "pull of 1,000 rows": lambda hub: hub.pull(MEMORY, middle, middle + 1000),
        "what is new (`bound`)": lambda hub: hub.bound(),
        "fetch of 100 keys": lambda hub: hub.fetch(MEMORY, [f"new {n}" for n in range(100)]),
        "digest check": lambda hub: hub.digests({"memory": []}),
    }


def bound(work: Callable[[WarehouseHub], object], hub: WarehouseHub) -> Callable[[], object]:
    """The work on one hub."""
    return lambda: work(hub)
