"""A database of m3-memory: what is in it comes over, and what is broken in it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import fix_m3
import pytest
from fix_importing import contents, edges, memories, taken
from fix_m3 import HANDOFF, PAINT, SHED
from fix_memory import seen_as

from satchel.errors import InvalidInput
from satchel.memory.messages import messages
from satchel.memory.search.search import search
from satchel.replica import Replica


@pytest.fixture
def m3(tmp_path: Path) -> Path:
    return fix_m3.make(tmp_path / "agent_memory.db")


def columns(replica: Replica, kind: str, *names: str) -> dict[str, tuple[Any, ...]]:
    key = "agent_id" if kind == "agent" else "id"
    with replica.store.read() as db:
        rows: Any = db.execute(f"SELECT {key}, {', '.join(names)} FROM {kind}").fetchall()
    return {row[0]: row[1:] for row in rows}


def test_what_comes_over(replica: Replica, m3: Path) -> None:
    answer = taken(replica, "m3-memory", m3)
    assert answer["kinds"] == {
        "memory": {"created": 4},
        "chatlog": {"created": 1},
        "agent": {"created": 2},
        "message": {"created": 1},
        "task": {"created": 2},
        "relationship": {"created": 2},
    }
    assert answer["left_out"] == {"deleted memories": 1, "deleted tasks": 1, "notifications": 1}
    assert memories(replica, "content", "type", "scope", "agent_id", "user_id", "pinned") == [
        ("We deploy on Thursdays.", "decision", "org", "planner", "una", None),
        ("We deploy on Tuesdays.", "decision", "org", None, "una", 1),
        ("for a day", "note", "agent", "writer", "una", None),
        ("The staging database listens on 5433.", "fact", "agent", "planner", "una", None),
    ]
    kept = json.loads(memories(replica, "metadata")[3])
    assert kept.items() >= {"ticket": "A-17", "conversation_id": "c-1", "source": "agent"}.items()
    assert "change_agent" not in kept


def test_what_was_superseded_is_found_when_it_was_true(replica: Replica, m3: Path) -> None:
    taken(replica, "m3-memory", m3)
    text = "when do we deploy?"
    now = [hit.snippet for hit in search(replica, text).hits]
    then = [hit.snippet for hit in search(replica, text, as_of=1_780_000_000_000).hits]
    assert (now[0], then[0]) == ("We deploy on Tuesdays.", "We deploy on Thursdays.")
    ((old, new),) = memories_superseding(replica)
    assert (old, new) == ("We deploy on Thursdays.", "We deploy on Tuesdays.")
    assert edges(replica) == {("staging db", "supports", None), (None, "supersedes", None)}


def memories_superseding(replica: Replica) -> list[Any]:
    with replica.store.read() as db:
        return db.execute(
            "SELECT a.content, b.content FROM memory AS b JOIN memory AS a ON a.id = b.supersedes"
            " WHERE a.retired_at IS NOT NULL"
        ).fetchall()


def test_agents_tasks_and_hand_offs(replica: Replica, m3: Path) -> None:
    taken(replica, "m3-memory", m3)
    assert columns(replica, "agent", "description", "status", "capabilities", "trust") == {
        "planner": ("plans", "active", '["plan"]', 1.0),
        "writer": ("writes", "offline", None, 0.75),
    }
    staging = memories(replica, "id")[3]
    told = ("status", "owner_agent", "parent_id", "result_memory_id")
    assert columns(replica, "task", *told) == {
        SHED: ("pending", "writer", None, None),
        PAINT: ("completed", None, SHED, staging),
    }
    (message,) = messages.inbox(seen_as(replica, "writer"))["items"]
    assert message["id"] == HANDOFF
    assert (message["from_agent"], message["kind"]) == ("planner", "handoff")
    assert message["content"] == "paint the shed\n\nsee the ticket"
    assert json.loads(message["context_ids"]) == [staging]


def test_turns(replica: Replica, m3: Path) -> None:
    taken(replica, "m3-memory", m3)
    names = ("conversation_id", "role", "content", "host_agent", "model", "tokens_in", "cost")
    (turn,) = columns(replica, "chatlog", *names, "agent_id").values()
    assert turn == ("c-1", "user", "hello there", "claude-code", "claude-x", 12, 0.5, "planner")


def test_the_same_again_changes_nothing(replica: Replica, m3: Path) -> None:
    taken(replica, "m3-memory", m3)
    before = contents(replica)
    again = taken(replica, "m3-memory", m3)
    assert {kind: set(counts) for kind, counts in again["kinds"].items()} == {
        kind: {"exists"} for kind in before if before[kind] and kind != "history"
    }
    assert contents(replica) == before


def test_a_database_of_an_old_version(replica: Replica, tmp_path: Path) -> None:
    answer = taken(replica, "m3-memory", fix_m3.make(tmp_path / "old.db", old=True))
    assert answer["kinds"]["memory"] == {"created": 5}  # it cannot say what was deleted
    assert "The staging database listens on 5433." in memories(replica, "content")


def test_rows_that_are_broken_are_told_and_the_rest_goes_in(replica: Replica, m3: Path) -> None:
    with apsw.Connection(str(m3)) as db:
        for row in (
            {"id": "no text", "type": "note", "content": None},
            {"id": "no utf-8", "type": "note", "content": b"\xff"},
            {"id": "bad share", "type": "note", "content": "x", "importance": 7},
            {"id": "bad time", "type": "note", "content": "y", "created_at": "never"},
            {"id": "bad type", "type": "a\nb", "content": "z"},
            {"id": "bad agent", "type": "note", "content": "w", "agent_id": "a\0b"},
            {"id": "odd metadata", "type": "note", "content": "kept", "metadata_json": "[1"},
        ):
            fix_m3.insert(db, "memory_items", {"created_at": fix_m3.AT, **row})
        fix_m3.insert(db, "tasks", {"id": "short", "title": "t", "created_by": "planner"})
        fix_m3.insert(db, "memory_relationships", {
            "id": "r9", "from_id": "nobody", "to_id": HANDOFF + "x", "relationship_type": "x",
        })  # fmt: skip
        db.execute("UPDATE memory_items SET content = CAST(x'ff41' AS TEXT) WHERE id = 'no utf-8'")
    db.close()
    answer = taken(replica, "m3-memory", m3, code=1)
    assert {error["record"].split(" ", 1)[1]: error.get("field") for error in answer["errors"]} == {
        "no text": "text",
        "no utf-8": "text",
        "bad share": "importance",
        "bad time": "valid_from",
        "bad type": "type",
        "bad agent": "agent_id",
        "short": "id",
    }
    assert answer["left_out"]["edges to nothing"] == 1
    assert len(memories(replica, "id")) == 5
    assert "kept" in memories(replica, "content")


def test_only_the_operator_takes_agents_tasks_and_hand_offs(replica: Replica, m3: Path) -> None:
    answer = taken(seen_as(replica, "writer"), "m3-memory", m3, code=1, scope="agent")
    assert {error["code"] for error in answer["errors"]} == {"refused"}
    assert answer["failed"] == 5
    assert set(memories(replica, "scope", "agent_id")) == {("agent", "writer")}


def test_an_agent_takes_nobodys_memories_as_they_are(replica: Replica, m3: Path) -> None:
    answer = taken(seen_as(replica, "writer"), "m3-memory", m3, code=1)
    assert set(memories(replica, "agent_id")) == {"writer"}
    told = [error for error in answer["errors"] if error["field"] == "agent_id"]
    assert all("--scope" in error["hint"] for error in told)
    assert told


def test_the_database_is_only_read(replica: Replica, m3: Path) -> None:
    before = m3.read_bytes()
    m3.chmod(0o400)
    taken(replica, "m3-memory", m3)
    assert m3.read_bytes() == before
    assert sorted(one.name for one in m3.parent.iterdir()) == [m3.name, "home"]


def test_its_json_export(replica: Replica, tmp_path: Path) -> None:
    first, second = ({"created_at": fix_m3.AT, **item} for item in fix_m3.ITEMS[:3:2])
    edge = {"to_id": second["id"], "relationship_type": "supports", "created_at": fix_m3.AT}
    edges_ = [edge, {**edge, "to_id": fix_m3.THURSDAY}]  # to one that was deleted there
    items = [{**first, "embeddings": [], "relationships": edges_}, {"title": "no id"}, second]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"exported_at": fix_m3.AT, "item_count": 3, "items": items}))
    answer = taken(replica, "m3-memory", path, code=1)
    assert answer["kinds"] == {"memory": {"created": 2}, "relationship": {"created": 1}}
    assert [error["field"] for error in answer["errors"]] == ["id"]
    # The same memory by its database and by its export is one.
    again = taken(replica, "m3-memory", fix_m3.make(tmp_path / "x.db"))
    assert again["kinds"]["memory"] == {"exists": 2, "created": 2}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "neither a database nor"),
        (b"SQLite format 3\0 and then nothing of it" * 100, "cannot be read"),
        (b"\x1f\x8b" + bytes(100), "not UTF-8"),
        (b"[1, {}]", "neither a database nor"),
        (b'{"items": [7]}', "neither a database nor"),
    ],
)
def test_what_is_no_database(replica: Replica, tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=word):
        taken(replica, "m3-memory", path)


def test_a_database_of_something_else_and_one_that_is_a_trap(
    replica: Replica, tmp_path: Path
) -> None:
    path = tmp_path / "x.db"
    with apsw.Connection(str(path)) as db:
        # A view of that name would run for ever.
        db.execute(
            "CREATE VIEW memory_items AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1"
            " FROM n) SELECT id, 'note' AS type, 'x' AS content FROM n"
        )
    db.close()
    with pytest.raises(InvalidInput, match="no table memory_items"):
        taken(replica, "m3-memory", path)


def test_tables_without_rowid_hold_the_same(replica: Replica, m3: Path, tmp_path: Path) -> None:
    found = taken(replica, "m3-memory", m3)
    path = fix_m3.make(tmp_path / "without.db", form="WITHOUT ROWID")
    answer = taken(replica, "m3-memory", path)
    assert answer["left_out"] == found["left_out"]
    assert answer["kinds"] == {
        kind: {"exists": sum(counts.values())} for kind, counts in found["kinds"].items()
    }


def test_a_database_that_is_damaged_is_told(replica: Replica, m3: Path) -> None:
    with apsw.Connection(str(m3)) as db:
        for number in range(300):
            fix_m3.insert(db, "memory_items", {
                "id": f"n{number}", "type": "note", "content": f"{number} " + "x" * 500,
                "created_at": fix_m3.AT,
            })  # fmt: skip
    db.close()
    pages = m3.stat().st_size // 4096
    with m3.open("r+b") as file:
        file.seek(pages * 3 // 4 * 4096)
        file.write(bytes(4096 * 2))
    answer = taken(replica, "m3-memory", m3, code=1)
    assert "damaged" in answer["errors"][-1]["message"]
    assert answer["failed"] == 1
