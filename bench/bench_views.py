"""Reports at a million rows: views, reports, a refresh, pushes beside them, what rows take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from uuid import uuid4

import psycopg
import pytest
from bench.measure import COLUMNS, sampled
from bench.page import Section
from fix_hub import ORIGIN, PREFIX, HubWorld, drop_logins, row_of, titled
from psycopg import conninfo

from satchel_sync.tables import MEMORY
from satchel_warehouse import admin, roles
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.reports.reading import Asked, read
from satchel_warehouse.seeding.seed import Seeded, seed
from satchel_warehouse.views.catalog import VIEWS
from satchel_warehouse.views.refresh import refresh

ROUNDS = 5
PUSHES, PUSHED_ROWS = 12, 2_000
VIEWS_METHOD = """
One embedded Postgres, durable, filled by
`satchel warehouse seed` and `satchel warehouse refresh`; then a login of `grant --reporter` reads
each view as a whole to the client (`COPY (SELECT * FROM report.…) TO STDOUT`) and each report over
its default period of 30 days and over all 180. Times in ms, by the clock of the reader.
"""
REFRESH_METHOD = """
`satchel warehouse refresh` on that warehouse, sum by sum: when there was none before, and again
when nothing had changed. Times in s; no reader and no sync waits for it.
"""
LOAD_METHOD = f"""
One machine pushes {PUSHED_ROWS:,} memories of about 300 bytes, {PUSHES} times, into that warehouse:
alone, beside two readers who run all reports again and again, and beside a refresh that begins anew
as soon as it ends. Times of a push in ms; all of it on these cores.
"""
SIZE_METHOD = """
That warehouse after `VACUUM`: bytes of a row on the disk, with its share of free space, of TOAST
and of indexes. A gigabyte is 2^30 bytes.
"""
SIZES = """
SELECT c.relname, c.reltuples::bigint,
    (pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0))
        / greatest(c.reltuples, 1),
    pg_indexes_size(c.oid) / greatest(c.reltuples, 1),
    pg_total_relation_size(c.oid) / 1048576.0
FROM pg_class c WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind IN ('r', 'p')
    AND c.reltuples >= 50 ORDER BY pg_total_relation_size(c.oid) DESC
"""


@dataclass(frozen=True)
class Large:
    """A seeded warehouse: its administrator's and a reporter's DSN, how long the seeding took."""

    admin: str
    reporter: str
    tenant: str
    made: Seeded | None


@pytest.fixture(scope="module")
def large(request: pytest.FixtureRequest) -> Iterator[Large]:
    """The warehouse of `--warehouse`, or a new one of `--rows`."""
    dsn, made = request.config.getoption("--warehouse"), None
    if not dsn:
        dsn = request.getfixturevalue("durable_cluster")
        admin.init(dsn)
        made = seed(dsn, rows=request.config.getoption("--rows"), machines=25)
    name = PREFIX + uuid4().hex[:12]
    roles.grant(dsn, name, kind="reporter", tenant="seeded")
    try:
        yield Large(dsn, conninfo.make_conninfo(dsn, user=name), "seeded", made)
    finally:
        with psycopg.connect(dsn, autocommit=True) as db:
            db.execute("DELETE FROM satchel.login WHERE role_name = %s", (name,))
        drop_logins(dsn, [name])


def bench_refresh(large: Large) -> None:
    """How long the sums take."""
    section = Section(
        "refresh", "Refresh of the reports", REFRESH_METHOD, ("sum", "lines", "s", "again")
    )
    with psycopg.connect(large.admin, autocommit=True) as db:
        db.execute("SET ROLE satchel_owner")
        names = db.execute("SELECT name FROM satchel.report_refresh WHERE tenant = 'seeded'")
        for (name,) in names.fetchall():
            db.execute(f"DELETE FROM satchel.report_{name} WHERE tenant = 'seeded'".encode())
    first = refresh(large.admin, tenant=large.tenant)
    again = {one.name: one.ms for one in refresh(large.admin, tenant=large.tenant)}
    for one in first:
        section.add(
            one.name, f"{one.rows:,}", f"{one.ms / 1000:.1f}", f"{again[one.name] / 1000:.1f}"
        )
    total = (sum(one.ms for one in first) / 1000, sum(again.values()) / 1000)
    section.add("all", "", *(f"{seconds:.1f}" for seconds in total))
    section.write()


def bench_views(large: Large) -> None:
    """Every view and every report, as somebody reads them."""
    section = Section(
        "views", "Views and reports at a million rows", VIEWS_METHOD, ("what", "rows", *COLUMNS)
    )
    with psycopg.connect(large.reporter, autocommit=True) as db:
        for view in VIEWS:
            rows = copied(db, view.name)
            samples = sampled(lambda name=view.name: copied(db, name), ROUNDS)  # type: ignore[misc]
            section.add(f"report.{view.name}", f"{rows:,}", *samples.columns())
    for name, report in REPORTS.items():
        for days in (30, 180):
            asked = Asked(since=timedelta(days=days))
            samples = sampled(lambda r=report, a=asked: read(large.reporter, r, a), ROUNDS)  # type: ignore[misc]
            section.add(f"`report run {name}`, {days} days", "", *samples.columns())
    with psycopg.connect(large.admin) as db:
        memory = db.execute("SHOW shared_buffers").fetchall()[0][0]
        section.remarks.append(f"`shared_buffers` is {memory}.")
    if large.made is not None:
        rows = sum(large.made.rows.values())
        section.remarks.append(
            f"The warehouse was seeded in {large.made.seconds:.0f} s: {rows:,} rows,"
            f" {large.made.audit_records:,} audit records, {large.made.attempts:,} syncs."
        )
    section.write()


def copied(db: psycopg.Connection[tuple[object, ...]], view: str) -> int:
    """Read a view as a whole; how many rows it has."""
    with db.cursor() as cursor:
        with cursor.copy(f"COPY (SELECT * FROM report.{view}) TO STDOUT".encode()) as out:
            for _ in out:
                pass
        return cursor.rowcount


def bench_push_beside_reports(large: Large) -> None:
    """What a machine's push pays for readers and a refresh."""
    section = Section("reports_load", "Pushes beside reports", LOAD_METHOD, ("beside", *COLUMNS))
    world, keys = HubWorld(large.admin), count()
    world.know(ORIGIN, tenant=large.tenant)
    try:
        hub = world.replica(7, large.tenant)

        def push() -> None:
            rows = [
                row_of(MEMORY, f"bench-{uuid4()}-{next(keys)}", titled(MEMORY, content="x" * 300))
                for _ in range(PUSHED_ROWS)
            ]
            assert len(hub.push(MEMORY, rows).accepted) == PUSHED_ROWS

        for name, beside in (
            ("nothing", ()),
            ("two readers", (reads, reads)),
            ("a refresh", (refreshes,)),
        ):
            done = threading.Event()
            threads = [threading.Thread(target=one, args=(large, done)) for one in beside]
            for thread in threads:
                thread.start()
            samples = sampled(push, PUSHES)
            done.set()
            for thread in threads:
                thread.join()
            section.add(name, *samples.columns())
    finally:
        world.close()
    section.write()


def reads(large: Large, done: threading.Event) -> None:
    """All reports, again and again."""
    while not done.is_set():
        for report in REPORTS.values():
            read(large.reporter, report, Asked())


def refreshes(large: Large, done: threading.Event) -> None:
    """A refresh that begins as soon as the last one ended."""
    while not done.is_set():
        refresh(large.admin, tenant=large.tenant)


def bench_sizes(large: Large) -> None:
    """What the rows of each table take."""
    section = Section("sizes", "What rows take at the warehouse", SIZE_METHOD,
                      ("table", "rows", "bytes a row", "of indexes", "MB"))  # fmt: skip
    with psycopg.connect(large.admin, autocommit=True) as db:
        db.execute("VACUUM (ANALYZE)")
        total = 0.0
        for table, rows, heap, indexes, megabytes in db.execute(SIZES.encode()):
            section.add(table, f"{rows:,}", f"{heap:.0f}", f"{indexes:.0f}", f"{megabytes:.1f}")
            total += float(megabytes)
    section.remarks.append(f"All tables together: {total / 1024:.2f} GB.")
    section.write()
