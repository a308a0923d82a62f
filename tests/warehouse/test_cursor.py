"""The cursor is sound: with writers that wait, race and abort, no reader misses a row."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from fix_hub import HubWorld, row_of, titled

from satchel_sync.changes import Row
from satchel_sync.tables import MEMORY
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseUnreachable


class Reader:
    """A replica that pulls in steps and remembers what it got."""

    def __init__(self, hub: WarehouseHub) -> None:
        self.hub = hub
        self.cursor = 0
        self.rows: dict[str, Row] = {}

    def pull(self) -> None:
        upto = self.hub.bound()["memory"]
        while self.cursor < upto:
            page = self.hub.pull(MEMORY, self.cursor, upto)
            self.rows |= {row.key: row for row in page.rows}
            self.cursor = page.cursor


@contextmanager
def in_background(work: Callable[[], Any]) -> Iterator[Future[Any]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def wait_for_lock(db: psycopg.Connection[Any], count: int) -> None:
    """Until `count` sessions wait for the tenant's row."""
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    deadline = monotonic() + 20
    while (db.execute(query).fetchone() or (0,))[0] < count:
        assert monotonic() < deadline, "nobody waits for the lock"
        sleep(0.01)


def some(prefix: str, count: int = 5) -> list[Row]:
    return [row_of(MEMORY, f"{prefix} {n}", titled(MEMORY, title=prefix)) for n in range(count)]


@pytest.fixture
def db(world: HubWorld) -> psycopg.Connection[Any]:
    return world.psql()


def paused_push(
    hub: WarehouseHub, rows: list[Row], go_on: threading.Event, at: threading.Event
) -> None:
    """A push that stops after the merge and before its COMMIT."""
    real = hub._connected

    @contextmanager
    def pausing() -> Iterator[Any]:
        with real() as connection:
            yield _Pausing(connection, go_on, at)

    hub._connected = pausing  # type: ignore[method-assign]
    try:
        hub.push(MEMORY, rows)
    finally:
        hub._connected = real  # type: ignore[method-assign]


class _Pausing:
    """A connection whose transactions wait at their end."""

    def __init__(self, connection: Any, go_on: threading.Event, at: threading.Event) -> None:
        self._connection, self._go_on, self._at = connection, go_on, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        with self._connection.transaction() as transaction:
            yield transaction
            self._at.set()
            assert self._go_on.wait(30)


def test_a_push_paused_before_commit_hides_nothing(
    world: HubWorld, db: psycopg.Connection[Any]
) -> None:
    """Attack 2: A's push holds its numbers; B pushes and psql edits meanwhile, C reads on."""
    a, b = world.replica(1), world.replica(2)
    reader = Reader(world.replica(3))
    b.push(MEMORY, some("before"))
    reader.pull()
    go_on, at = threading.Event(), threading.Event()
    with (
        in_background(lambda: paused_push(a, some("paused"), go_on, at)) as first,
        in_background(lambda: at.wait(20) and b.push(MEMORY, some("meanwhile"))) as second,
        in_background(
            lambda: (
                at.wait(20)
                and world.psql().execute(
                    "UPDATE satchel.memory SET title = 'psql' WHERE id = 'before 1'"
                )
            )
        ) as third,
    ):
        assert at.wait(20)
        wait_for_lock(db, 2)
        reader.pull()
        assert not any(key.startswith(("paused", "meanwhile")) for key in reader.rows)
        go_on.set()
        for work in (first, second, third):
            work.result(30)
    reader.pull()
    assert {row.key for row in (*some("paused"), *some("meanwhile"))} <= reader.rows.keys()
    assert reader.rows["before 1"].values[1] == "psql"


def test_an_open_psql_edit_makes_a_push_wait_and_readers_none(
    world: HubWorld, db: psycopg.Connection[Any]
) -> None:
    pusher, reader = world.replica(4), Reader(world.replica(5))
    pusher.push(MEMORY, some("open"))
    reader.pull()
    editor = world.psql()
    editor.execute("BEGIN")
    editor.execute("UPDATE satchel.memory SET title = 'edited' WHERE id = 'open 1'")
    with in_background(lambda: pusher.push(MEMORY, some("waiting"))) as push:
        wait_for_lock(db, 1)
        seen = reader.cursor
        reader.pull()
        assert reader.cursor == seen
        editor.execute("COMMIT")
        push.result(30)
    reader.pull()
    assert reader.rows["open 1"].values[1] == "edited"
    assert {row.key for row in some("waiting")} <= reader.rows.keys()


def test_a_push_rolled_back_leaves_a_gap_and_no_harm(world: HubWorld) -> None:
    hub, reader = world.replica(6), Reader(world.replica(7))
    with world.psql(hub._dsn).transaction(force_rollback=True) as transaction:
        transaction.connection.execute("SELECT satchel_api.push_begin_memory(%s)", (hub._attempt,))
        transaction.connection.execute(
            "INSERT INTO pg_temp.incoming_memory (id, life, hlc, origin, digest, lineage)"
            " VALUES ('rolled back', 65536, 1, decode(repeat('01', 16), 'hex'),"
            " decode(repeat('01', 8), 'hex'), '')"
        )
        merged = transaction.connection.execute(
            "SELECT satchel_api.push_end_memory(%s, 1) -> 'refused'", (hub._attempt,)
        )
        assert merged.fetchone() == ([],)
    hub.push(MEMORY, some("after the gap"))
    reader.pull()
    assert "rolled back" not in reader.rows
    assert {row.key for row in some("after the gap")} <= reader.rows.keys()


def test_a_lock_that_is_never_freed_is_exit_10(world: HubWorld) -> None:
    hub = world.replica(8)
    world.psql().execute(f"ALTER ROLE {world.logins[-1]} SET lock_timeout = '50ms'".encode())
    hub.close()
    editor = world.psql()
    editor.execute("BEGIN")
    editor.execute("UPDATE satchel.memory SET title = 'held' WHERE false")
    with pytest.raises(WarehouseUnreachable) as caught:
        hub.push(MEMORY, some("never"))
    editor.execute("ROLLBACK")
    assert caught.value.exit_code == 10
    assert len(hub.push(MEMORY, some("never")).accepted) == 5


def test_writers_of_all_sorts_at_once_and_a_reader_that_never_stops(world: HubWorld) -> None:
    """Four logins push, two psql sessions edit, insert and abort; the reader ends with all rows."""
    pushers = [world.replica(number) for number in range(20, 24)]
    editors = [world.psql() for _ in range(2)]
    reader, done = Reader(world.replica(30)), threading.Event()
    world.replica(31).push(MEMORY, some("target", 20))

    def push(hub: WarehouseHub, name: str) -> None:
        for turn in range(15):
            hub.push(MEMORY, some(f"{name} {turn}", 20))

    def edit(session: psycopg.Connection[Any], name: str) -> None:
        for turn in range(15):
            with session.transaction(force_rollback=turn % 5 == 4):
                session.execute(
                    "INSERT INTO satchel.memory (id, title) VALUES (%s, 'x')", (f"{name} {turn}",)
                )
                session.execute(
                    "UPDATE satchel.memory SET title = %s WHERE id = %s",
                    (f"{name} {turn}", f"target {turn}"),
                )

    def read() -> None:
        while not done.is_set():
            reader.pull()

    with ThreadPoolExecutor(8) as pool:
        reading = pool.submit(read)
        works = [pool.submit(push, hub, f"push{n}") for n, hub in enumerate(pushers)]
        works += [pool.submit(edit, session, f"edit{n}") for n, session in enumerate(editors)]
        for work in works:
            work.result(100)
        done.set()
        reading.result(30)
    reader.pull()
    whole = Reader(world.replica(32))
    whole.pull()
    assert reader.rows == whole.rows
    (count,) = world.psql().execute("SELECT count(*) FROM satchel.memory").fetchone() or (0,)
    assert len(whole.rows) == count
