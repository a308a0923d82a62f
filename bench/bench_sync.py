"""Sync against a durable Postgres: push, replay, pull and apply beside raw COPY and raw inserts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.corpus import Corpus
from bench.measure import COLUMNS, Timed, sampled
from bench.page import Section
from bench.stock import Raw, fill
from fix_hub import HubWorld, fresh_hub
from psycopg import sql

from satchel.replica import DATABASE_FILE
from satchel.store import outbox
from satchel.store.codec import row_of
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.sql import row_columns
from satchel_sync.changes import Row
from satchel_sync.limits import PULL_ROWS_MAX, PUSH_ROWS_MAX
from satchel_sync.session import sync
from satchel_sync.tables import MEMORY, VERSION_COLUMNS
from satchel_warehouse.ahead import PagesAhead
from satchel_warehouse.endpoint import WarehouseHub

EMPTY_SYNCS = 20
HUB_COLUMNS = (MEMORY.key, *MEMORY.names, "extra", *VERSION_COLUMNS)
PG_TYPES = {"t": "text", "i": "int8", "r": "float8", "b": "bytea"}
COPY_TYPES = (
    "text", *(PG_TYPES[column.tag] for column in MEMORY.columns), "text",
    "int8", "int8", "bytea", "bytea", "text",
)  # fmt: skip
COLUMNS_OF = ("what", "rows", "s", "rows/s", "beside it")
METHOD = f"""
One machine writes so many memories and syncs (first push); all are queued again and synced
(replay: the hub has them already); another machine with an empty file syncs (pull and apply).
Postgres is the embedded one with its own defaults (fsync on, 128 MB of shared buffers), reached
over a Unix socket; replicas have `durability = full`. Times are of the phase of the whole sync;
the lines below a phase are the share of each call in it; hub.pull is what is waited for, as a page
is on its way while the one before is stored, text index included. Raw COPY is psycopg's binary COPY
of the same rows from Python tuples in a table made LIKE satchel.memory INCLUDING ALL (no triggers),
a transaction for every {PUSH_ROWS_MAX:,} rows. Raw insert is a plain SQLite file with the same
table, a transaction for every {PULL_ROWS_MAX:,} rows, synchronous FULL, without and with a full-
text index. CPU is this process's alone: the replica and psycopg, not the server.
"""


@pytest.mark.parametrize("count", [20_000, 100_000])
def bench_sync(durable_cluster: str, tmp_path: Path, count: int) -> None:
    section = Section(f"sync-{count}", f"Sync of {count:,} memories", METHOD, COLUMNS_OF)
    with fresh_hub(durable_cluster) as world:
        with Store.open(tmp_path / "one" / DATABASE_FILE) as one, hub_of(world) as hub:
            fill(one, Corpus().memories(count))
            rows = held(one)
            raw_s = raw_copy(world, rows)
            section.add("raw COPY", count, f"{raw_s:.2f}", rate(count, raw_s), "")
            push(section, "push", one, hub, count, raw_s)
            with one.write() as db:
                outbox.put_all(db, MEMORY)
            push(section, "replay", one, hub, count, raw_s)
        plain_s = raw_insert(tmp_path / "plain.db", rows, fts=False)
        text_s = raw_insert(tmp_path / "text.db", rows, fts=True)
        section.add("raw insert", count, f"{plain_s:.2f}", rate(count, plain_s), "")
        section.add("raw insert + full text", count, f"{text_s:.2f}", rate(count, text_s), "")
        with Store.open(tmp_path / "two" / DATABASE_FILE) as two, hub_of(world) as hub:
            pull(section, two, hub, count, plain_s, text_s)
    section.write()


def bench_empty_sync(durable_cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = f"""
    {EMPTY_SYNCS} syncs of a replica with so many memories, in a running process with an open
    connection, nothing having changed on either side. Calls are those of the hub; round trips are
    psycopg's waits for an answer of the server.
    """
    columns = ("memories", *COLUMNS, "hub calls", "round trips", "rows")
    section = Section("empty-sync", "Empty sync", method, columns)
    for count in (1_000, 20_000, 100_000):
        with fresh_hub(durable_cluster) as world:
            home = tmp_path / str(count)
            with Store.open(home / DATABASE_FILE) as store, hub_of(world) as hub:
                fill(store, Corpus().memories(count))
                sync(SqliteReplica(store), hub, SYSTEM_CLOCK)
                empty_syncs(section, store, hub, count, monkeypatch)
    section.write()


def empty_syncs(
    section: Section,
    store: Store,
    hub: WarehouseHub,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sync again and again, with the waits counted in the last one."""
    replica = Timed(SqliteReplica(store))
    counted, reports = Timed(hub), []

    def once() -> None:
        reports.append(sync(replica, counted, SYSTEM_CLOCK))  # type: ignore[arg-type]

    samples = sampled(once, EMPTY_SYNCS)
    per_sync = {name: 1000 * s / EMPTY_SYNCS for name, s in counted.seconds.items()}
    ours = {name: 1000 * s / EMPTY_SYNCS for name, s in replica.seconds.items()}
    calls = {name: number / EMPTY_SYNCS for name, number in counted.calls.items()}
    waits = 0
    wait = psycopg.Connection.wait

    def waiting(*given: Any, **named: Any) -> Any:
        nonlocal waits
        waits += 1
        return wait(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "wait", waiting)
        once()
    assert all(report["noop"] and report["digest"] == "equal" for report in reports)
    section.add(count, *samples.columns(), f"{sum(calls.values()):.0f}", waits, 0)
    section.remarks.append(f"{count:,}: mean ms of hub calls: {_listed(per_sync)}.")
    section.remarks.append(f"{count:,}: mean ms of replica calls: {_listed(ours)}.")


def push(
    section: Section, phase: str, store: Store, hub: WarehouseHub, count: int, raw_s: float
) -> None:
    """One sync that sends everything."""
    replica, counted = Timed(SqliteReplica(store)), Timed(hub)
    report = sync(replica, counted, SYSTEM_CLOCK)  # type: ignore[arg-type]
    assert report["kinds"]["memory"]["sent"] == count
    assert report["digest"] == "equal"
    parts = [("outgoing", replica), ("push", counted), ("settle", replica)]
    seconds = sum(one.seconds[name] for name, one in parts)
    beside = f"{raw_s / seconds:.2f} × raw COPY"
    section.add(f"**{phase}**", count, f"{seconds:.2f}", rate(count, seconds), beside)
    for name, one in parts:
        told = f"{raw_s / one.seconds[name]:.2f} × raw COPY"
        section.add(
            f"– {'hub' if one is counted else 'replica'}.{name}", count,
            f"{one.seconds[name]:.2f}", rate(count, one.seconds[name]), told,
        )  # fmt: skip
    section.remarks.append(f"{phase}: phases of the sync in ms: {_listed(report['ms'])}.")


def pull(
    section: Section, store: Store, hub: WarehouseHub, count: int, plain_s: float, text_s: float
) -> None:
    """One sync into an empty file."""
    replica, counted = Timed(SqliteReplica(store)), Timed(hub)
    report = sync(replica, counted, SYSTEM_CLOCK)  # type: ignore[arg-type]
    assert report["kinds"]["memory"]["applied"] == count
    assert report["digest"] == "equal"
    seconds = counted.seconds["pull"] + replica.seconds["apply"]
    for name, spent in (
        ("**pull + apply**", seconds),
        ("– hub.pull", counted.seconds["pull"]),
        ("– replica.apply", replica.seconds["apply"]),
    ):
        told = f"{plain_s / spent:.2f} × raw insert, {text_s / spent:.2f} × with full text"
        section.add(name, count, f"{spent:.2f}", rate(count, spent), told)
    section.remarks.append(f"pull: phases of the sync in ms: {_listed(report['ms'])}.")


def hub_of(world: HubWorld) -> PagesAhead:
    """The hub as a new machine sees it."""
    return PagesAhead(world.login())


def held(store: Store) -> list[Row]:
    """Every memory as it travels."""
    with store.read() as db:
        found = db.execute(f"SELECT {row_columns(MEMORY)} FROM memory ORDER BY row")
        return [row_of(values) for values in found]


def raw_copy(world: HubWorld, rows: Sequence[Row]) -> float:
    """Seconds of a COPY of these rows into a table like the hub's."""
    given = [("default", row.key, *row.values, *row.stamp, row.lineage) for row in rows]
    names = sql.SQL(", ").join(map(sql.Identifier, ("tenant", *HUB_COLUMNS)))
    copy = sql.SQL("COPY satchel.raw_memory ({}) FROM STDIN (FORMAT BINARY)").format(names)
    with psycopg.connect(world.dsn, autocommit=True) as db:
        db.execute("CREATE TABLE satchel.raw_memory (LIKE satchel.memory INCLUDING ALL)")
        db.execute(
            "ALTER TABLE satchel.raw_memory ALTER change_seq SET DEFAULT 1,"
            " ALTER schema_ver SET DEFAULT 1, ALTER received_at SET DEFAULT 1,"
            " ALTER pushed_by SET DEFAULT ''"
        )
        began = time.perf_counter()
        for batch in _batches(given, PUSH_ROWS_MAX):
            with db.cursor() as cursor, cursor.copy(copy) as sent:
                sent.set_types(["text", *COPY_TYPES])
                for row in batch:
                    sent.write_row(row)
        seconds = time.perf_counter() - began
        assert db.execute("SELECT count(*) FROM satchel.raw_memory").fetchone() == (len(rows),)
        db.execute("DROP TABLE satchel.raw_memory")
    return seconds


def raw_insert(path: Path, rows: Sequence[Row], *, fts: bool) -> float:
    """Seconds of inserts of these rows into a plain SQLite file."""
    raw = Raw(path, "FULL", fts=fts)
    began = time.perf_counter()
    for batch in _batches(rows, PULL_ROWS_MAX):
        raw.insert(batch)
    seconds = time.perf_counter() - began
    raw.close()
    return seconds


def rate(count: int, seconds: float) -> str:
    """Rows a second."""
    return f"{count / seconds:,.0f}"


def _batches(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _listed(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in found.items())
