"""Stores in a temporary home, and the same file opened by hand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica

sys.path.insert(0, str(Path(__file__).parent))

from hand import Hand
from machine import Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "satchel.db"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(path, durability="process", clock=clock) as opened:
        yield opened


@pytest.fixture
def replica(store: Store) -> SqliteReplica:
    return SqliteReplica(store)


@pytest.fixture(params=[False, True], ids=["plain", "recursive_triggers"])
def by_hand(request: pytest.FixtureRequest, store: Store) -> Iterator[Hand]:
    """The file under Python's own SQLite, with either setting of `recursive_triggers`."""
    with closing(Hand(store.path, recursive_triggers=request.param)) as hand:
        yield hand
        check_whole(hand)


def check_whole(db: Hand) -> None:
    """The file is sound, its text indexes equal their tables, and no scratch is left."""
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for fts in ("memory_fts", "chatlog_fts"):
        db.execute(f"INSERT INTO {fts}({fts}, rank) VALUES('integrity-check', 1)")
    assert db.execute("SELECT count(*) FROM replaced").fetchone() == (0,)
    assert db.execute("SELECT kind, key FROM replace_probe").fetchall() == [(None, None)]
    assert db.execute("SELECT applying, actor, wall_ms FROM control").fetchone() == (0, None, None)


@pytest.fixture
def count(by_hand: Hand) -> Callable[[str], int]:
    """Count rows: `count("outbox WHERE kind = 'memory'")`."""
    return lambda source: int(by_hand.execute(f"SELECT count(*) FROM {source}").fetchone()[0])
