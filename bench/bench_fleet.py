"""Twenty machines that sync at once: nothing is lost, nothing deadlocks, and the lock is short."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
from bench import one_machine
from bench.measure import COLUMNS, Samples
from bench.page import Section
from fix_hub import fresh_hub

MACHINES = 20
MEMORIES = 1_000
SYNCS = 3
PROBE_S = 0.02
METHOD = f"""
{MACHINES} machines, each a process with a login of its own and {MEMORIES:,} memories of its own,
begin to sync at one moment, {SYNCS} times each, against one durable Postgres, all of it on these
cores. Beside them a session of the administrator takes and releases the tenant's lock every
{PROBE_S * 1000:.0f} ms: what it waits is what a push or an edit by `psql` waits. Times in ms.
"""


def bench_fleet(durable_cluster: str, tmp_path: Path) -> None:
    section = Section("fleet", "Twenty machines at once", METHOD, ("what", *COLUMNS))
    with fresh_hub(durable_cluster) as world:
        machines = [
            one_machine.start(tmp_path / str(at), world.login(), MEMORIES, at + 1, SYNCS)
            for at in range(MACHINES)
        ]
        done, waits = threading.Event(), list[float]()
        probe = threading.Thread(target=probe_lock, args=(world.dsn, done, waits))
        probe.start()
        try:
            for machine in machines:
                one_machine.begin(machine)
            began = time.perf_counter()
            told = [one_machine.told(machine) for machine in machines]
        finally:
            done.set()
            probe.join()
        took = time.perf_counter() - began
        with world.psql() as db:
            row = db.execute("SELECT count(*), count(DISTINCT change_seq) FROM satchel.memory")
            assert row.fetchone() == (MACHINES * MEMORIES,) * 2
            deadlocks = db.execute("SELECT sum(deadlocks) FROM pg_stat_database").fetchone()
    reports = [one["report"] for machine in told for one in machine]
    assert all(report["ok"] for report in reports)
    assert sum(report["kinds"]["memory"]["accepted"] for report in reports) == MACHINES * MEMORIES
    assert deadlocks == (0,)
    for name, seconds in (
        ("a whole sync", [one["seconds"] for machine in told for one in machine]),
        ("hub.push", [push for machine in told for one in machine for push in one["pushes"]]),
        ("wait for the lock", waits),
    ):
        section.add(name, *Samples([1000 * s for s in seconds]).columns())
    section.remarks.append(
        f"{MACHINES} × {MEMORIES:,} memories were at the hub, once each, after {took:.1f} s;"
        " deadlocks: 0; syncs that failed: 0."
    )
    section.write()


def probe_lock(dsn: str, done: threading.Event, waits: list[float]) -> None:
    """How long the tenant's lock has to be waited for, again and again."""
    with psycopg.connect(dsn, autocommit=True) as db:
        while not done.wait(PROBE_S):
            began = time.perf_counter()
            db.execute("SELECT satchel.lock_tenant('default')")
            waits.append(time.perf_counter() - began)
