"""A database as m3-memory keeps one, by a schema of our own that has the columns which are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

TABLES = {
    "memory_items": "id TEXT PRIMARY KEY, type TEXT NOT NULL, title TEXT, content TEXT,"
    " metadata_json TEXT, agent_id TEXT, model_id TEXT, change_agent TEXT, importance REAL,"
    " source TEXT, origin_device TEXT, is_deleted INTEGER DEFAULT 0, expires_at TEXT,"
    " created_at TEXT, updated_at TEXT, user_id TEXT DEFAULT '', scope TEXT DEFAULT 'agent',"
    " valid_from TEXT DEFAULT '', valid_to TEXT DEFAULT '', read_at TEXT, conversation_id TEXT,"
    " confidence REAL, pinned INTEGER DEFAULT 0",
    "memory_relationships": "id TEXT PRIMARY KEY, from_id TEXT, to_id TEXT,"
    " relationship_type TEXT NOT NULL, created_at TEXT",
    "memory_embeddings": "id TEXT PRIMARY KEY, memory_id TEXT, embedding BLOB, dim INTEGER",
    "memory_history": "id TEXT PRIMARY KEY, memory_id TEXT, event TEXT",
    "agents": "agent_id TEXT PRIMARY KEY, role TEXT, status TEXT, capabilities TEXT,"
    " created_at TEXT, last_seen TEXT, trust_score REAL DEFAULT 1.0",
    "notifications": "id INTEGER PRIMARY KEY, agent_id TEXT, kind TEXT, payload_json TEXT",
    "tasks": "id TEXT PRIMARY KEY, title TEXT, description TEXT, state TEXT, owner_agent TEXT,"
    " created_by TEXT, parent_task_id TEXT, result_memory_id TEXT, metadata_json TEXT,"
    " created_at TEXT, updated_at TEXT, completed_at TEXT, deleted_at TEXT",
}
OLD = ("id", "type", "title", "content", "agent_id", "created_at")
"""What its first versions had of a memory, more or less."""

STAGING = "e101b5a8-5cdd-4636-8002-ac4d0e6b3ff6"
THURSDAY = "29846098-ad2e-42f5-a4ca-55398004bd35"
TUESDAY = "9fc5054d-df00-467e-8e18-2c5c199a5c07"
HANDOFF = "2d4dc4a1-3ba1-427d-ab83-e3a653231669"
SHED = "550000f5-6934-4bae-8fe1-3cd7b670bbeb"
PAINT = "c9e04473-6817-49c6-a333-b3fe136ef300"
AT = "2026-11-30T07:45:01.792010+00:00"

ITEMS: tuple[dict[str, Any], ...] = (
    {"id": STAGING, "type": "fact", "title": "staging db", "scope": "agent",
     "content": "The staging database listens on 5433.", "metadata_json": '{"ticket": "A-17"}',
     "agent_id": "planner", "user_id": "una", "importance": 0.8, "confidence": 0.5,
     "source": "agent", "change_agent": "unknown", "conversation_id": "c-1", "valid_from": AT},
    {"id": THURSDAY, "type": "decision", "content": "We deploy on Thursdays.", "scope": "org",
     "agent_id": "planner", "is_deleted": 1, "valid_from": "2026-01-02T03:04:05Z",
     "valid_to": "2026-11-30T07:45:01.835641+00:00"},
    {"id": TUESDAY, "type": "decision", "content": "We deploy on Tuesdays.", "scope": "org",
     "valid_from": "2026-11-30T07:45:01.834489+00:00", "pinned": 1},
    {"id": "7f905c4f-4f75-4011-b3bd-7b9e546b1407", "type": "note", "content": "for a day",
     "agent_id": "writer", "scope": "session", "expires_at": "2099-12-01T07:45:01.816898+00:00"},
    {"id": "deleted", "type": "note", "content": "gone", "is_deleted": 1},
    {"id": HANDOFF, "type": "handoff", "title": "Handoff from planner", "agent_id": "writer",
     "content": "paint the shed", "scope": "agent",
     "metadata_json": '{"from_agent": "planner", "note": "see the ticket"}'},
    {"id": "turn", "type": "chat_log", "content": "hello there", "conversation_id": "c-1",
     "agent_id": "planner", "model_id": "claude-x", "scope": "agent",
     "metadata_json": '{"role": "user", "host_agent": "claude-code", "provider": "anthropic",'
     ' "tokens_in": 12, "cost_usd": 0.5, "latency_ms": 7}'},
)  # fmt: skip
EDGES = (
    {"id": "r1", "from_id": STAGING, "to_id": TUESDAY, "relationship_type": "supports"},
    {"id": "r2", "from_id": TUESDAY, "to_id": THURSDAY, "relationship_type": "supersedes"},
    {"id": "r3", "from_id": HANDOFF, "to_id": STAGING, "relationship_type": "handoff"},
)
AGENTS = (
    {"agent_id": "planner", "role": "plans", "status": "active", "capabilities": '["plan"]',
     "created_at": AT, "last_seen": AT},
    {"agent_id": "writer", "role": "writes", "status": "offline", "capabilities": "[]",
     "created_at": AT, "last_seen": AT, "trust_score": 0.75},
)  # fmt: skip
TASKS = (
    {"id": SHED, "title": "paint the shed", "description": "green", "state": "pending",
     "owner_agent": "writer", "created_by": "planner", "metadata_json": "{}", "created_at": AT},
    {"id": PAINT, "title": "buy paint", "state": "completed", "created_by": "planner",
     "parent_task_id": SHED, "result_memory_id": STAGING, "created_at": AT, "completed_at": AT},
    {"id": "0" * 36, "title": "dropped", "state": "pending", "created_by": "planner",
     "deleted_at": AT},
)  # fmt: skip


def make(path: Path, *, old: bool = False, form: str = "") -> Path:
    """The database, with all of the above; an old one has memories of few columns only."""
    with apsw.Connection(str(path)) as db:
        for table, columns in TABLES.items():
            if old and table != "memory_items":
                continue
            listed = ", ".join(f"{name} TEXT" for name in OLD) if old else columns
            db.execute(f"CREATE TABLE {table}({listed}) {form}")
        for item in ITEMS:
            row = {"created_at": AT, **item}
            insert(db, "memory_items", {name: row.get(name) for name in OLD} if old else row)
        if not old:
            for table, rows in (("memory_relationships", EDGES), ("agents", AGENTS),
                                ("tasks", TASKS)):  # fmt: skip
                for one in rows:
                    insert(db, table, one)
            insert(db, "notifications", {"id": 1, "agent_id": "writer", "kind": "ping"})
    db.close()
    return path


def insert(db: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table}({', '.join(row)}) VALUES({marks})", tuple(row.values()))
