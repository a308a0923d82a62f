"""Tools that say they only read write nothing to the replica; those that say they write do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import config
from satchel.replica import Replica, open_replica
from satchel.store import journal, outbox
from satchel.tools import catalog
from satchel_sync.changes import Loser, Row
from satchel_sync.tables import MEMORY

ENVIRONMENT = {
    "SATCHEL_EMBEDDING": "off",
    "SATCHEL_AGENT": "ann",
    "SATCHEL_AGENT_ROLE": "operator",
}


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    """A replica with a row of each kind that a tool can read."""
    settings = config.load(flags={"home": str(tmp_path / "home")}, environ=ENVIRONMENT)
    with open_replica(settings) as opened:
        yield opened


def call(replica: Replica, name: str, /, **arguments: Any) -> dict[str, Any]:
    tool, _ = catalog.find(name)
    return tool.call(replica, tool.arguments(arguments))


def lose(replica: Replica, key: str, text: str) -> str:
    """Put a version of a memory with another text into the conflict journal; returns it."""
    with replica.store.write() as db:
        held = outbox.row(db, MEMORY, key)
        assert held is not None
        values = list(held.values)
        values[MEMORY.names.index("content")] = text
        stamp = held.stamp._replace(digest=b"lostlost")
        lost = Row(key, stamp, "", tuple(values))
        assert journal.add(db, Loser("memory", lost, held.stamp, "pull", replica.now_ms()))
    return stamp.hex()


def rows(replica: Replica) -> dict[str, list[Any]]:
    """Every row of every table that is not an index of another."""
    with replica.store.read() as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        plain = [name for name in names if "_fts" not in name]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in plain}


def test_reading_tools_write_nothing(replica: Replica) -> None:
    memory = call(replica, "memory_write", text="the shed is green")["id"]
    task = call(replica, "task_create", title="paint the shed")["id"]
    session = call(replica, "session_start", title="painting")["id"]
    call(replica, "chatlog_write", conversation_id="talk", text="which shed?")
    call(replica, "agent_register", id="ann")
    call(replica, "space_members", name="yard", add=["ann"])
    message = call(replica, "message_send", to="ann", content="your turn")["id"]
    needed: dict[str, dict[str, Any]] = {
        "memory_get": {"ids": [memory]},
        "memory_history": {"id": memory},
        "memory_graph": {"id": memory},
        "memory_search": {"query": "shed"},
        "chatlog_search": {"query": "shed"},
        "chatlog_show": {"conversation_id": "talk"},
        "task_get": {"id": task},
        "task_tree": {"id": task},
        "agent_get": {"id": "ann"},
        "message_get": {"id": message},
        "message_thread": {"id": message},
        "session_get": {"id": session},
        "sync_explain": {"id": memory},
        "sync_conflicts_show": {"id": lose(replica, memory, "the shed was red")},
        "space_get": {"name": "yard"},
    }
    before = rows(replica)
    readers = [tool.name for tool in catalog.every().values() if not tool.writes]

    for name in readers:
        assert call(replica, name, **needed.get(name, {})), name
        assert rows(replica) == before, name
    assert set(needed) <= set(readers)
    call(replica, "task_start", id=task)
    assert rows(replica) != before
