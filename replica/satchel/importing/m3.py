"""A database of m3-memory (also of its chat logs), or its JSON export.

Memories, edges, agents, tasks, hand-offs and turns; an export has the first two.

Read as it lies on the disk, without writing to it. Tables and columns that an older version lacks
count as empty. What was deleted there is left out; what was superseded comes with its successor.
Not taken, and counted in the answer: vectors (made anew with the model that is used here), history,
notifications, the entity graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from satchel.errors import InvalidInput, SatchelError
from satchel.importing.documents import load
from satchel.importing.m3_export import ExportFile
from satchel.importing.records import Edge, Fault, Note, Place, Record, Source, Talk, Whole
from satchel.importing.sqlite_file import Row, SqliteFile, Tables, is_sqlite, unreadable
from satchel.importing.values import given, mapping, time_ms
from satchel.memory import text
from satchel.transcripts.turn import Role, Turn

LEFT_OUT = {
    "memory_embeddings": "vectors",
    "memory_history": "history entries",
    "notifications": "notifications",
    "entities": "entities",
    "entity_relationships": "entity relations",
    "memory_archive": "archived memories",
}
"""Tables that are not taken, and what their rows are called."""
KEPT = (
    "change_agent",
    "conversation_id",
    "model_id",
    "origin_device",
    "refresh_on",
    "refresh_reason",
    "updated_at",
    "variant",
)
"""Columns that go into the metadata."""
TAKEN = ("agents", "memory_items", "memory_relationships", "tasks")
EDGE = ("from_id", "to_id", "relationship_type")
SUPERSEDES, HANDOFF, TURN = "supersedes", "handoff", "chat_log"
FORMAT = "m3-memory"
ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def open_source(path: Path | None) -> Source:
    """Agents, memories and turns, tasks, hand-offs, edges. Raises InvalidInput."""
    if path is None:
        raise InvalidInput("a database is read from its file, not stdin", field="path")
    file = SqliteFile(path) if is_sqlite(path) else ExportFile(path)
    try:
        _require_memories(file, path)
        left_out = {name: rows for table, name in LEFT_OUT.items() if (rows := file.count(table))}
        total = sum(file.count(table) for table in TAKEN)
    except InvalidInput:
        file.close()
        raise
    except apsw.Error as error:
        file.close()
        raise unreadable(path, error) from error
    return Source(_records(file, left_out), total, left_out)


def _require_memories(file: Tables, path: Path) -> None:
    if not file.has("memory_items", "id", "content"):
        fault = f"{path} has no memories of m3-memory in it (no table memory_items)"
        raise InvalidInput(fault, field="path")


def _records(file: Tables, left_out: dict[str, int]) -> Iterator[Record | Fault]:
    yield from getattr(file, "faults", ())
    try:
        gone = _superseded(file)
        handed = _contexts(file)
        yield from _told(file, "agents", "agent_id", _agent)
        yield from _told(file, "memory_items", "id", lambda row: _item(row, gone, handed, left_out))
        yield from _talks(file)
        here = _here(file, gone)
        yield from _told(file, "memory_relationships", "id", lambda row: _edge(row, here, left_out))
        yield from _told(file, "tasks", "id", lambda row: _task(row, left_out))
    except apsw.Error as error:
        fault = InvalidInput(f"the database is damaged: {error}; what is behind it cannot be read")
        yield Fault(Place(), fault)
    finally:
        file.close()


def _told(
    file: Tables, table: str, key: str, tell: Callable[[Row], Record | None]
) -> Iterator[Record | Fault]:
    """Each row as a record; None is left out, and so is a table that lacks the key."""
    for row in file.rows(table, key):
        place = Place(record=f"{table} {row[key]}")
        try:
            record = tell(row)
        except SatchelError as error:
            yield Fault(place, error)
            continue
        if record is not None:
            yield record


# ---- rows ---------------------------------------------------------------------------------------


def _superseded(file: Tables) -> frozenset[str]:
    """Memories that another one took the place of."""
    edges = file.rows("memory_relationships", *EDGE)
    return frozenset(str(one["to_id"]) for one in edges if one[EDGE[2]] == SUPERSEDES)


def _here(file: Tables, gone: frozenset[str]) -> frozenset[str]:
    """The rows that become memories: neither deleted, nor a hand-off or a turn."""
    return frozenset(
        str(row["id"])
        for row in file.rows("memory_items", "id", "type")
        if row["type"] not in (HANDOFF, TURN) and (not row.get("is_deleted") or row["id"] in gone)
    )


def _contexts(file: Tables) -> dict[str, list[str]]:
    """Hand-off -> the memories that were handed over with it."""
    items = file.rows("memory_items", "id", "type")
    found: dict[str, list[str]] = {str(one["id"]): [] for one in items if one["type"] == HANDOFF}
    for edge in file.rows("memory_relationships", *EDGE):
        if edge[EDGE[2]] == HANDOFF and str(edge["from_id"]) in found:
            found[str(edge["from_id"])].append(str(edge["to_id"]))
    return found


def _item(
    row: Row, gone: frozenset[str], handed: Mapping[str, list[str]], left_out: dict[str, int]
) -> Record | None:
    """A row of `memory_items`, which holds memories, hand-offs and turns."""
    key = str(row["id"])
    if row.get("is_deleted") and key not in gone:
        left_out["deleted memories"] = left_out.get("deleted memories", 0) + 1
        return None
    match row.get("type"):
        case "chat_log":
            return None  # its turns are taken together (`_talks`)
        case "handoff":
            return _handoff(row, handed.get(key, []))
        case _:
            return _note(row, replaced=key in gone)


def _note(row: Row, *, replaced: bool) -> Note:
    agent, user, scope = given(row.get("agent_id")), given(row.get("user_id")), row.get("scope")
    if scope == "session":  # its sessions were no more than a time to live
        scope = "agent"
    if scope == "agent" and agent is None:
        scope = "user"
    kept = {name: row[name] for name in KEPT if row.get(name) not in (None, "", "unknown")}
    source = given(row.get("source"))
    return Note(
        place=Place(record=f"memory_items {row['id']}"),
        ref=str(row["id"]),
        content=row.get("content") or row.get("title"),
        title=given(row.get("title")),
        type=row.get("type"),
        metadata={**kept, **({"source": source} if source else {}), **_metadata(row)},
        importance=row.get("importance"),
        confidence=row.get("confidence"),
        pinned=bool(row.get("pinned")),
        valid_from=given(row.get("valid_from")) or row.get("created_at"),
        valid_to=given(row.get("valid_to")),
        expires_at=given(row.get("expires_at")),
        scope=scope if scope in ("agent", "user", "org") else None,
        agent=agent,
        user=user,
        replaced=replaced,
    )


def _talks(file: Tables) -> Iterator[Talk | Fault]:
    """The turns of each speaker's, in the order in which they were written."""
    found: dict[tuple[str | None, str | None], list[Turn]] = {}
    for number, row in enumerate(file.rows("memory_items"), start=1):
        if row.get("type") != TURN or row.get("is_deleted"):
            continue
        try:
            turn = _turn(row, number)
        except SatchelError as error:
            yield Fault(Place(record=f"memory_items {row['id']}"), error)
            continue
        whose = (given(row.get("agent_id")), given(row.get("user_id")))
        found.setdefault(whose, []).append(turn)
    for (agent, user), turns in found.items():
        place = Place(record=f"turns of {agent or user or 'nobody'}")
        yield Talk(place=place, turns=turns, agent=agent, user=user)


def _turn(row: Row, number: int) -> Turn:
    said = _metadata(row)
    tokens = [_whole(said.pop(name, None)) for name in ("tokens_in", "tokens_out")]
    cost = said.pop("cost_usd", None)
    said.pop("original_content_sha256", None)  # by which what was taken out could be guessed at
    role = str(said.pop("role", "user")).lower()
    model = given(said.pop("model_id", None)) or given(row.get("model_id"))
    return Turn(
        conversation_id=str(row.get("conversation_id") or f"m3-memory {row['id']}"),
        role=ROLES.get(role, "system"),
        content=text.content(row.get("content")),
        said_at=time_ms(given(row.get("valid_from")) or row.get("created_at"), "created_at"),
        host_agent=given(said.pop("host_agent", None)) or FORMAT,
        line=number,
        provider=given(said.pop("provider", None)),
        model=model,
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        cost=float(cost) if isinstance(cost, int | float) else None,
        metadata=said,
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _handoff(row: Row, context: list[str]) -> Whole:
    said = _metadata(row)
    note = given(said.get("note"))
    content = str(row.get("content") or "")
    return Whole(
        place=Place(record=f"memory_items {row['id']}"),
        kind="message",
        key=row["id"],
        columns={
            "to_agent": row.get("agent_id"),
            "from_agent": said.get("from_agent"),
            "kind": "handoff",
            "title": given(row.get("title")),
            "content": f"{content}\n\n{note}" if note else content,
            "task_id": given(said.get("task_id")),
            "created_at": time_ms(row.get("created_at"), "created_at"),
            "acked_at": time_ms(row.get("read_at"), "read_at"),
        },
        refs={"context_ids": context} if context else {},
    )


def _edge(row: Row, here: frozenset[str], left_out: dict[str, int]) -> Edge | None:
    """An edge between memories that are taken; those of a hand-off are its context."""
    start, end, kind = str(row.get("from_id")), str(row.get("to_id")), row.get("relationship_type")
    if not {start, end} <= here:
        if kind != HANDOFF:
            left_out["edges to nothing"] = left_out.get("edges to nothing", 0) + 1
        return None
    return Edge(
        place=Place(record=f"memory_relationships {row.get('id')}"),
        start=start,
        end=end,
        type=kind,
        replaces=kind == SUPERSEDES,
    )


def _agent(row: Row) -> Whole:
    capabilities = given(row.get("capabilities"))
    return Whole(
        place=Place(record=f"agents {row['agent_id']}"),
        kind="agent",
        key=row["agent_id"],
        columns={
            "description": given(row.get("role")),
            "capabilities": capabilities if capabilities != "[]" else None,
            "trust": row.get("trust_score"),
            "registered_at": time_ms(row.get("created_at"), "created_at"),
            "status": row.get("status"),
            "last_seen": time_ms(row.get("last_seen"), "last_seen"),
        },
    )


def _task(row: Row, left_out: dict[str, int]) -> Whole | None:
    if given(row.get("deleted_at")):
        left_out["deleted tasks"] = left_out.get("deleted tasks", 0) + 1
        return None
    metadata = given(row.get("metadata_json"))
    result = given(row.get("result_memory_id"))
    return Whole(
        place=Place(record=f"tasks {row['id']}"),
        kind="task",
        key=row["id"],
        columns={
            "title": row.get("title"),
            "description": given(row.get("description")),
            "status": row.get("state"),
            "scope": "org",
            "agent_id": row.get("created_by"),
            "created_by": row.get("created_by"),
            "owner_agent": given(row.get("owner_agent")),
            "parent_id": given(row.get("parent_task_id")),
            "metadata": metadata if metadata != "{}" else None,
            "created_at": time_ms(row.get("created_at"), "created_at"),
            "completed_at": time_ms(row.get("completed_at"), "completed_at"),
        },
        refs={"result_memory_id": result} if result else {},
    )


def _metadata(row: Row) -> dict[str, Any]:
    """The metadata of a row; of what is no JSON object nothing is lost: it stays as text."""
    said = given(row.get("metadata_json"))
    if said is None:
        return {}
    try:
        found = load(said)
    except InvalidInput:
        return {"metadata_json": said}
    return mapping(found) if isinstance(found, dict) else {"metadata_json": said}
