"""Machines that stay in touch: from a write on one until the others have it, and what idling costs.

The measured alternative to a store in Postgres (docs/adr/0034).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

import psycopg
from bench import one_live
from bench.corpus import Corpus
from bench.measure import Samples, sampled
from bench.page import Section
from bench.stock import fill, opened
from fix_hub import HubWorld, fresh_hub

from satchel.memory.write import write
from satchel.replica import DATABASE_FILE
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_crypto import random_bytes
from satchel_sync.live import Live
from satchel_sync.session import sync
from satchel_warehouse.ahead import PagesAhead

OTHERS = (1, 5, 20)
WRITES = 60
PERIOD_S = 2.0
PERIODS_S = (PERIOD_S, 1.0)
IDLE_S = 30.0
TURNS = 100
HELD = 20_000
METHOD = f"""
One machine and so many others, each a process as `satchel sync --every {PERIOD_S:.0f}s` runs it,
against one durable Postgres over a Unix socket, all of it on these cores. An agent in another
process writes {WRITES} memories on the one (memory.write, durability full, pauses of 0.3 to 1.3 s).
Time is from the end of the write until the row is committed in an other machine's own SQLite file.
"""


def bench_live(durable_cluster: str, tmp_path: Path) -> None:
    columns = ("other machines", "period s", "min ms", "p50", "p95", "p99", "max", "n")
    section = Section("live", "In touch", METHOD, columns)
    for others in OTHERS:
        for period_s in PERIODS_S:
            with fresh_hub(durable_cluster) as world:
                seen(section, world, tmp_path / f"{others} {period_s}", others, period_s)
    section.write()


def seen(section: Section, world: HubWorld, folder: Path, others: int, period_s: float) -> None:
    """How long after a write on one machine the others have it."""
    with in_touch(world, folder, others + 1, period_s) as machines:
        before, began = server_cpu_s(world), time.monotonic()
        written = writes(folder / "0", machines)
        hub = (server_cpu_s(world) - before) / (time.monotonic() - began)
        said = [one_live.told(one) for one in machines]
    attempts = world.psql().execute("SELECT count(*) FROM satchel.attempt").fetchone()
    assert attempts
    late = [one["arrived"][key] - at for one in said[1:] for key, at in written.items()]
    samples = Samples([1000 * max(0, s) for s in late])
    section.add(others, f"{period_s:.0f}", *samples.columns()[:6])
    section.remarks.append(
        f"{others} others, {period_s:.0f} s: all had all {len(written)} memories. CPU meanwhile:"
        f" hub {100 * hub:.1f} % of a core, each machine"
        f" {100 * mean(one['cpu_s'] / one['wall_s'] for one in said):.1f} %; {attempts[0] - 1}"
        f" sync attempts for {sum(one['turns'] for one in said):,} turns."
    )


def bench_live_idle(durable_cluster: str, tmp_path: Path) -> None:
    method = f"""
    As above, {OTHERS[-1]} machines on which nothing happens, for {IDLE_S:.0f} s. CPU is the
    server's processes together, and one machine's process at the mean; memory is the peak resident
    set of that process, and of one server process what is not shared.
    """
    columns = (
        "period s",
        "machines",
        "hub CPU %",
        "machine CPU %",
        "turns",
        "machine MB",
        "hub MB",
    )
    section = Section("live-idle", "In touch: idle", method, columns)
    for period_s in PERIODS_S:
        folder, machines = tmp_path / str(period_s), OTHERS[-1]
        with fresh_hub(durable_cluster) as world, in_touch(world, folder, machines, period_s) as m:
            time.sleep(PERIOD_S)
            before, began = server_cpu_s(world), time.monotonic()
            time.sleep(IDLE_S)
            hub = (server_cpu_s(world) - before) / (time.monotonic() - began)
            memory = backend_mb(world)
            said = [one_live.told(one) for one in m]
        machine = mean(one["cpu_s"] / one["wall_s"] for one in said)
        section.add(
            f"{period_s:.0f}", machines, f"{100 * hub:.2f}", f"{100 * machine:.2f}",
            sum(one["turns"] for one in said), f"{mean(one['peak_mb'] for one in said):.0f}",
            f"{memory:.1f}",
        )  # fmt: skip
    section.write()


def bench_turn(durable_cluster: str, tmp_path: Path) -> None:
    """One turn beside a whole sync, on a replica of some size."""
    method = f"""
    {TURNS} turns of one machine with {HELD:,} memories in a running process on an open connection,
    beside whole syncs of it: with nothing to move, and with one new memory each.
    """
    columns = ("what", "min ms", "p50", "p95", "p99", "max", "n", "CPU p50")
    section = Section("live-turn", "One turn beside a whole sync", method, columns)
    with (
        fresh_hub(durable_cluster) as world,
        Store.open(tmp_path / DATABASE_FILE) as store,
        PagesAhead(world.login()) as hub,
    ):
        fill(store, Corpus().memories(HELD))
        replica = SqliteReplica(store)
        sync(replica, hub, SYSTEM_CLOCK)
        new = Corpus(7)

        def after_a_write(work: Callable[[], object]) -> Callable[[], object]:
            def both() -> None:
                fill(store, new.memories(1))
                work()

            return both

        def whole() -> None:
            sync(replica, hub, SYSTEM_CLOCK)

        section.add("whole sync, nothing new", *sampled(whole, TURNS // 4).columns())
        section.add("write + whole sync", *sampled(after_a_write(whole), TURNS // 4).columns())
        live = Live(replica, hub, SYSTEM_CLOCK)

        def turn() -> None:
            live.turn(0.0)

        turn()
        section.add("turn, nothing new", *sampled(turn, TURNS).columns())
        section.add("write + turn", *sampled(after_a_write(turn), TURNS).columns())
        section.add("the hub's answer (bound)", *sampled(hub.bound, TURNS).columns())
    section.write()


# ---- below: machines, writes, processes ----------------------------------------------------------


@contextmanager
def in_touch(world: HubWorld, folder: Path, machines: int, period_s: float) -> Iterator[list[Any]]:
    """So many processes that stay in touch, in the folders 0, 1, 2 …; killed at the end."""
    made = []
    for number in range(machines):
        home = folder / str(number)
        home.mkdir(parents=True)
        made.append(one_live.start(home, world.login(), period_s))
    try:
        for one in made:
            one_live.ready(one)
        yield made
    finally:
        for one in made:
            one.kill()


def writes(home: Path, machines: list[Any]) -> dict[str, float]:
    """Memory id -> when its write had returned."""
    texts, written = Corpus(5), dict[str, float]()
    with opened(home, embedding="off") as replica:
        for number in range(WRITES):
            made = write(replica, f"{texts.text()} {number}")
            written[made.id] = time.time()
            time.sleep(0.3 + random_bytes(1)[0] / 255)
    time.sleep(3 * PERIOD_S)
    assert all(one.poll() is None for one in machines)
    return written


def server_cpu_s(world: HubWorld) -> float:
    """CPU seconds of the postmaster and all it started."""
    first = postmaster(world)
    ticks = 0
    for parent, fields in processes():
        if parent == first or int(fields[0]) == first:
            ticks += sum(map(int, fields[13:17]))
    return ticks / os.sysconf("SC_CLK_TCK")


def backend_mb(world: HubWorld) -> float:
    """Memory that one replica's server process has to itself."""
    query = "SELECT pid FROM pg_stat_activity WHERE usename LIKE 'satchel_test_%'"
    pids = [pid for (pid,) in world.psql().execute(query).fetchall()]
    return mean(_private_kb(pid) for pid in pids) / 1024


def _private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def postmaster(world: HubWorld) -> int:
    """The server's first process."""
    with psycopg.connect(world.dsn) as db:
        row = db.execute("SELECT pg_backend_pid()").fetchone()
        assert row
        fields = Path(f"/proc/{row[0]}/stat").read_text("ascii").rpartition(")")[2].split()
    return int(fields[1])


def processes() -> Iterator[tuple[int, list[str]]]:
    """(parent, fields of /proc/PID/stat as proc(5) numbers them from 0, the id first)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        yield int(rest[1]), [stat.parent.name, "", *rest]
