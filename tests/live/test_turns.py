"""One machine's turns: what wakes it, what it leaves to others, and what an error leaves behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_live import Touching
from fix_models import packaged_folder

from satchel import config, peers
from satchel.errors import ConfigInvalid, StoreUnusable
from satchel.replica import DATABASE_FILE
from satchel.store.connection import Store
from satchel.syncing.live import LiveSync
from satchel_sync.live import QUIET_S

HOLDS = """
import sys, fasteners
with fasteners.InterProcessLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
"""Another process that has a lock until its stdin ends."""
Named = Callable[[str], Touching]


@pytest.fixture
def a(machine: Named) -> Touching:
    """A machine on which nothing runs."""
    return machine("a")


@pytest.fixture
def live(a: Touching) -> Iterator[LiveSync]:
    """Its turns, as a test calls them."""
    made = LiveSync(config.load(environ={"SATCHEL_HOME": str(a.home), "SATCHEL_EMBEDDING": "off"}))
    yield made
    made.close()


def held(hub_world: HubWorld, kind: str = "memory") -> int:
    """How many rows of a kind the warehouse has."""
    ((rows,),) = hub_world.psql().execute(f"SELECT count(*) FROM satchel.{kind}".encode())
    return int(rows)


def test_a_write_of_somebody_else_is_noticed_once(
    a: Touching, live: LiveSync, hub_world: HubWorld
) -> None:
    assert not live.written(), "nothing is open yet"
    live.turn(0)
    live.written()
    assert not live.written()
    a.put("k", "x")
    assert [live.written(), live.written()] == [True, False]
    live.turn(1)
    assert (held(hub_world), a.unsent()) == (1, 0)
    assert not live.written(), "its own work is no write"
    with a.store.write() as db:
        db.execute("INSERT INTO meta(name, value) VALUES('of a test', 'x')")
    assert not live.written(), "nothing waits"


def test_an_attempt_ends_with_a_report_as_of_any_sync(a: Touching, live: LiveSync) -> None:
    live.turn(0)
    a.put("k", "x")
    assert live.turn(1) is None
    report = live.turn(1 + QUIET_S)
    assert report is not None
    whole = a.satchel("sync").json
    assert report.keys() == whole.keys()
    assert (report["exit"], report["pending"], report["kinds"]["memory"]["accepted"]) == (0, 0, 1)
    assert live.end(60) is None


def test_a_file_that_another_sync_has_is_left_alone(
    a: Touching, live: LiveSync, hub_world: HubWorld
) -> None:
    live.turn(0)
    a.put("k", "x")
    command = [sys.executable, "-c", HOLDS, str(a.home / peers.LOCK_FILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        assert other.stdout.readline()
        assert live.turn(1) is None
        assert (held(hub_world), a.unsent()) == (0, 1)
        other.communicate()
    live.turn(2)
    assert held(hub_world) == 1


def test_a_file_that_was_replaced_is_opened_anew(
    a: Touching, live: LiveSync, hub_world: HubWorld
) -> None:
    live.turn(0)
    a.put("before", "x")
    live.turn(1)
    a.store.close()
    kept = a.home / "kept.db"
    shutil.copy(a.home / DATABASE_FILE, kept)
    kept.replace(a.home / DATABASE_FILE)
    for side in ("-wal", "-shm"):
        Path(f"{a.home / DATABASE_FILE}{side}").unlink(missing_ok=True)
    assert live.written(), "the next turn says why"
    a.store = Store.open(a.home / DATABASE_FILE, durability="process")
    a.put("after", "y")
    live.turn(2)
    assert (held(hub_world), a.unsent()) == (2, 0)


def test_what_is_broken_is_said_and_a_later_turn_begins_with_nothing(
    a: Touching, live: LiveSync, hub_world: HubWorld
) -> None:
    live.turn(0)
    a.store.close()
    moved = a.home / "elsewhere.db"
    (a.home / DATABASE_FILE).rename(moved)
    with pytest.raises(StoreUnusable):
        live.turn(1)
    moved.rename(a.home / DATABASE_FILE)
    a.store = Store.open(a.home / DATABASE_FILE, durability="process")
    a.put("k", "x")
    live.turn(2)
    assert held(hub_world) == 1


@pytest.mark.skipif(packaged_folder() is None, reason="the packaged model is not installed")
def test_new_texts_get_their_vectors_between_turns(a: Touching, hub_world: HubWorld) -> None:
    live = LiveSync(config.load(environ={"SATCHEL_HOME": str(a.home)}))
    live.turn(0)
    assert a.satchel("write", "the shed is green", "--scope", "org").code == 0
    with a.store.read() as db:
        kept = db.execute("SELECT count(*) FROM embedding").get
    for now_s in (1, 2, 3):
        live.turn(now_s)
    assert (kept, held(hub_world, "memory"), held(hub_world, "embedding")) == (0, 1, 1)
    report = live.end(4)
    live.close()
    assert report
    assert (report["embedding"], report["pending"]) == ({"done": 1, "left": 0}, 0)


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ('store = "postgres"', {}),
        ('store = "sqlite"', {}),
        ("", {"SATCHEL_STORE": "postgres"}),
    ],
)
def test_there_is_no_other_store_and_what_there_is_instead_is_said(
    tmp_path: Path, text: str, environ: dict[str, str]
) -> None:
    (tmp_path / "config.toml").write_text(text, "utf-8")
    with pytest.raises(ConfigInvalid, match="a machine's store is its own SQLite file") as caught:
        config.load(environ={"SATCHEL_HOME": str(tmp_path), **environ})
    assert "satchel sync --every 2s" in caught.value.hint
    assert caught.value.field == "store"


def test_a_blank_variable_is_none(tmp_path: Path) -> None:
    assert config.load(environ={"SATCHEL_HOME": str(tmp_path), "SATCHEL_STORE": " "}).home
