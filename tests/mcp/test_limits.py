"""Timeouts that work: what is said to have been stopped has written nothing, whenever it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest

from satchel import config
from satchel.errors import TimedOut
from satchel.mcp_server import limited
from satchel.mcp_server.session import Session
from satchel.memory.write import write
from satchel.replica import Replica, open_replica
from satchel.store import limit

pytestmark = pytest.mark.anyio
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
SOON_S, SLACK_S = 0.2, 5.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path) -> config.Settings:
    return config.load(
        environ={
            "SATCHEL_HOME": str(tmp_path / "home"),
            "SATCHEL_EMBEDDING": "off",
            "SATCHEL_AGENT": "ann",
            "SATCHEL_STORE_DURABILITY": "process",
        }
    )


@pytest.fixture
def replica(settings: config.Settings) -> Iterator[Replica]:
    with open_replica(settings) as made:
        yield made


async def run(work: Callable[[], dict[str, Any]], timeout_s: float = SOON_S) -> dict[str, Any]:
    return await limited.run("the work", work, timeout_s, anyio.CapacityLimiter(4))


async def stopped(work: Callable[[], dict[str, Any]], timeout_s: float = SOON_S) -> TimedOut:
    """The error of work that takes too long; it comes soon."""
    began = time.monotonic()
    with pytest.raises(TimedOut) as caught:
        await run(work, timeout_s)
    assert time.monotonic() - began < timeout_s + limited.GRACE_S + SLACK_S
    return caught.value


def count(replica: Replica) -> int:
    with replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
        return int(db.execute("SELECT count(*) FROM memory").get)


async def test_a_statement_that_never_ends_is_interrupted(replica: Replica) -> None:
    def work() -> dict[str, Any]:
        with replica.store.read() as db:
            return {"n": db.execute(ENDLESS).get}

    error = await stopped(work)
    assert "nothing of it was written" in str(error)
    assert (error.code, error.field) == ("timed_out", "timeout_s")
    assert await run(lambda: {"n": count(replica)}, 20) == {"n": 0}


async def test_what_was_written_before_the_stop_is_rolled_back(replica: Replica) -> None:
    def work() -> dict[str, Any]:
        with replica.store.write() as db:
            db.execute("INSERT INTO memory(id, content) VALUES('m1', 'half')")
            db.execute(ENDLESS).get  # noqa: B018 (it is run by reading it)
        return {}

    await stopped(work)
    assert count(replica) == 0
    write(replica, "the store goes on")
    assert count(replica) == 1


async def test_many_short_statements_are_stopped_too(replica: Replica) -> None:
    def work() -> dict[str, Any]:
        while True:
            with replica.store.read() as db:
                db.execute("SELECT 1").get  # noqa: B018
            time.sleep(0.001)

    assert "nothing of it" in str(await stopped(work))


async def test_steps_that_were_durable_are_told(replica: Replica) -> None:
    def work() -> dict[str, Any]:
        write(replica, "the first step")
        with replica.store.read() as db:
            return {"n": db.execute(ENDLESS).get}

    assert "1 of its steps had been written before" in str(await stopped(work, 1.0))
    assert count(replica) == 1


async def test_a_wait_for_another_process_ends_in_time(replica: Replica) -> None:
    holder = apsw.Connection(str(replica.store.path))
    holder.execute("BEGIN IMMEDIATE")
    try:
        await stopped(lambda: {"id": write(replica, "waits").id})
    finally:
        holder.close()
    assert count(replica) == 0


async def test_a_loop_that_asks_is_stopped_and_one_that_does_not_is_left(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asking() -> dict[str, Any]:
        while True:
            limit.check()
            time.sleep(0.01)

    assert "may still go on" not in str(await stopped(asking))
    monkeypatch.setattr(limited, "GRACE_S", 0.1)
    ended = threading.Event()

    def deaf() -> dict[str, Any]:
        ended.wait(SLACK_S)
        try:
            write(replica, "too late")
        finally:
            ended.set()
        return {}

    assert "may still go on" in str(await stopped(deaf))
    ended.set()
    await anyio.sleep(0.2)
    assert count(replica) == 0, "it is refused when it comes to write"


async def test_who_cancels_a_call_stops_it(replica: Replica) -> None:
    began, over = threading.Event(), threading.Event()

    def work() -> dict[str, Any]:
        try:
            with replica.store.write() as db:
                db.execute("INSERT INTO memory(id, content) VALUES('m1', 'half')")
                began.set()
                db.execute(ENDLESS).get  # noqa: B018
        finally:
            over.set()
        return {}

    async with anyio.create_task_group() as group:
        group.start_soon(run, work, 60)
        await anyio.to_thread.run_sync(began.wait)
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(over.wait, SLACK_S)
    assert count(replica) == 0


async def test_an_answer_is_true_whenever_the_time_is_up(settings: config.Settings) -> None:
    """Writes with all manner of time: each is there exactly where it was said to be."""
    session = Session(settings, None)
    try:
        session.call("memory_write", {"text": "warm"})
        said: dict[str, bool] = {}
        told: set[str] = set()
        for number in range(120):
            text = f"note {number} of many"

            def work(text: str = text) -> dict[str, Any]:
                return session.call("memory_write", {"text": text})

            try:
                answer = await run(work, (number % 40) / 8_000)
                said[text] = answer["outcome"] == "created"
            except TimedOut as error:
                said[text] = False
                told.add(str(error).partition("stopped: ")[2])
        listed = session.call("satchel_call", {"tool": "memory_list", "args": {"limit": 1000}})
        held = {item["content"] for item in listed["items"]}
        assert {text for text, kept in said.items() if kept} == held - {"warm"}
        assert told == {"nothing of it was written"}
        assert 0 < sum(said.values()) < len(said), "some were in time and some were not"
    finally:
        session.close()


async def test_an_error_of_the_call_is_its_own(replica: Replica) -> None:
    with pytest.raises(KeyError):
        await run(lambda: {}["x"], 5)


async def test_a_call_beside_one_that_waits_is_not_held_up(replica: Replica) -> None:
    at_once = anyio.CapacityLimiter(2)
    started, answered = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        started.set()
        while not answered.wait(0.01):
            limit.check()
        return {"slow": True}

    async with anyio.create_task_group() as group:
        group.start_soon(limited.run, "slow", slow, 60, at_once)
        await anyio.to_thread.run_sync(started.wait)
        await limited.run("quick", lambda: {"id": write(replica, "quick").id}, 50, at_once)
        answered.set()
