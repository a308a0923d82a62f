"""One sync of a home at a time, by a lock that the kernel gives back however its holder ends."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_command import COMMAND
from fix_hub import HubWorld
from fix_schedule import configure

Satchel = Callable[..., Any]


@pytest.fixture
def syncing(
    home: Path, hub_world: HubWorld, satchel: Satchel, environment: Callable[..., dict[str, str]]
) -> Iterator[tuple[subprocess.Popen[str], psycopg.Connection[Any]]]:
    """A sync that stands in its push, as another session holds the hub's table of memories."""
    configure(home, hub_world.login())
    satchel("--home", str(home), "write", "waits for the hub", "--scope", "org")
    with (
        psycopg.connect(hub_world.dsn) as holder,
        subprocess.Popen(
            [*COMMAND, "--home", str(home), "sync"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        ) as process,
    ):  # fmt: skip
        try:
            holder.execute("LOCK TABLE satchel.memory IN ACCESS EXCLUSIVE MODE")
            wait_until_blocked(hub_world, process)
            yield process, holder
        finally:
            process.kill()
            holder.rollback()


def wait_until_blocked(hub_world: HubWorld, process: subprocess.Popen[str]) -> None:
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    db = hub_world.psql()
    deadline_s = time.monotonic() + 30
    while db.execute(waiting).fetchone() == (0,):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s, "the sync never came to its push"
        time.sleep(0.02)


def test_a_second_sync_is_told_at_once_and_a_killed_one_frees_the_lock(
    syncing: tuple[subprocess.Popen[str], psycopg.Connection[Any]], home: Path, satchel: Satchel
) -> None:
    process, holder = syncing
    second = satchel("--home", str(home), "sync")
    assert (second.code, second.out, second.error["code"]) == (10, "", "sync_busy")
    assert second.error["message"] == "another sync of this replica is running"
    assert len(second.err.splitlines()) == 1
    assert process.poll() is None, "the first goes on, so the second did not wait for it"
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    holder.rollback()
    third = satchel("--home", str(home), "sync")
    assert (third.code, third.json["pending"]) == (0, 0)
    fourth = satchel("--home", str(home), "sync")
    assert (fourth.code, fourth.json["noop"]) == (0, True)


def test_reading_and_writing_go_on_beside_a_sync(
    syncing: tuple[subprocess.Popen[str], psycopg.Connection[Any]], home: Path, satchel: Satchel
) -> None:
    process, holder = syncing
    assert satchel("--home", str(home), "write", "meanwhile", "--scope", "org").code == 0
    (hit, *_) = satchel("--home", str(home), "search", "meanwhile").json["hits"]
    assert hit["title"] == "meanwhile" or "meanwhile" in hit["snippet"]
    assert process.poll() is None
    holder.rollback()
    assert process.wait(30) == 0
