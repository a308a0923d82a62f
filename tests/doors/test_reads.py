"""Tools that say they only read write nothing to the replica; those that say they write do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import config
from satchel.replica import Replica, open_replica
from satchel.tools import catalog

ENVIRONMENT = {"SATCHEL_EMBEDDING": "off", "SATCHEL_AGENT": "ann"}


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    """A replica with a row of each kind that a tool can read."""
    settings = config.load(flags={"home": str(tmp_path / "home")}, environ=ENVIRONMENT)
    with open_replica(settings) as opened:
        yield opened


def call(replica: Replica, name: str, **arguments: Any) -> dict[str, Any]:
    tool, _ = catalog.find(name)
    return tool.call(replica, tool.arguments(arguments))


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
    call(replica, "message_send", to="ann", content="your turn")
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
        "session_get": {"id": session},
    }
    before = rows(replica)
    readers = [tool.name for tool in catalog.every().values() if not tool.writes]

    for name in readers:
        assert call(replica, name, **needed.get(name, {})), name
        assert rows(replica) == before, name
    assert set(needed) <= set(readers)
    call(replica, "task_start", id=task)
    assert rows(replica) != before
