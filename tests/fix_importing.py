"""Importing into a replica of a test, and what lies in its tables afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from satchel.importing.run import import_
from satchel.importing.target import Target
from satchel.replica import Replica
from satchel.store.sql import alive
from satchel_sync.tables import BY_NAME, EXTRA, KINDS


def silent(phase: str, kind: str, done: int, of: int) -> None:
    """A bar that nobody looks at."""


def taken(
    replica: Replica, format_name: str, path: Path, *, code: int = 0, **target: Any
) -> dict[str, Any]:
    """The answer of an import that ends with this exit code."""
    answer, exit_code = import_(replica, format_name, str(path), Target(**target), silent)
    assert exit_code == code, answer["errors"]
    assert answer["ok"] is (code == 0)
    return answer


def contents(replica: Replica) -> dict[str, list[tuple[Any, ...]]]:
    """Kind -> its living rows with every column but the version, by key."""
    found = {}
    with replica.store.read() as db:
        for kind in KINDS:
            table = BY_NAME[kind]
            columns = ", ".join((table.key, *table.names, EXTRA))
            sql = f"SELECT {columns} FROM {kind} WHERE {alive()} ORDER BY {table.key}"
            found[kind] = db.execute(sql).fetchall()
    return found


def memories(replica: Replica, *columns: str) -> list[Any]:
    """These columns of the living memories, by title and text; of one column the bare values."""
    sql = f"SELECT {', '.join(columns)} FROM memory WHERE {alive()} ORDER BY title, content"
    with replica.store.read() as db:
        rows = db.execute(sql).fetchall()
    return [row[0] for row in rows] if len(columns) == 1 else rows


def edges(replica: Replica) -> set[tuple[str, str, str]]:
    """(title of the one, type, title of the other) of the living edges."""
    sql = f"""SELECT a.title, r.type, b.title FROM relationship AS r
              JOIN memory AS a ON a.id = r.from_id JOIN memory AS b ON b.id = r.to_id
              WHERE {alive("r")}"""
    with replica.store.read() as db:
        found: Any = db.execute(sql).fetchall()
    return set(found)
