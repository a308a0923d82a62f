"""Rows of tasks: what is stored, what is shown beside it, and edges that must not close a cycle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.memory import text
from satchel.memory.lookup import can_see, resolve, select
from satchel.memory.task_order import ordered, reaches, waits_for
from satchel.memory.task_states import FINISHED
from satchel.memory.view import plain
from satchel.store import rows
from satchel_sync.tables import TASK, Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


def save(db: Connection, replica: Replica, held: Task, **changes: Any) -> dict[str, Any]:
    """Store changed columns and show the task as it is now."""
    rows.update(db, TASK, held.id, **changes)
    return shown(db, replica, replace(held, **changes))


def shown(db: Connection, replica: Replica, task: Task) -> dict[str, Any]:
    """Every column, what it waits for, whether it can be started, whether its lease runs."""
    before = waiting(db, task)
    leased = task.claimed_by is not None and (task.lease_until or 0) > replica.now_ms()
    return {
        "kind": "task",
        **plain(task),
        "waits_for": before,
        "ready": task.status == "pending" and not before and not leased,
        "leased": leased,
    }


def waiting(db: Connection, task: Task) -> list[str]:
    """Dependencies of an open task that are not completed."""
    if task.depends_on is None or task.status in FINISHED:
        return []
    keys = json.dumps(text.stored_list(task.depends_on))
    sql = "SELECT id, status FROM task WHERE id IN (SELECT value FROM json_each(?))"
    found: list[Any] = db.execute(sql, (keys,)).fetchall()
    return waits_for(task, dict(found))


def children(db: Connection, replica: Replica, parents: list[str]) -> list[Task]:
    """The visible parts of these tasks, in the order in which they can be done."""
    where = f"""t.parent_id IN (SELECT value FROM json_each(:parents))
                AND {can_see(replica.caller, "task")}"""
    params = {**replica.caller.params, "parents": json.dumps(parents)}
    return ordered(select(db, Task, where, params))


def new_parent(db: Connection, replica: Replica, held: Task, given: str) -> str:
    """The parent that was given. Raises InvalidInput when it is the task or a part of it."""
    parent = resolve(db, replica.caller, "task", given)
    if reaches(parent, held.id, edges(db, "parent_id")):
        raise InvalidInput(
            f"task {parent} is {held.id} or a part of it: a task cannot be its own parent",
            field="parent",
        )
    return parent


def new_needs(db: Connection, replica: Replica, held: Task, given: Sequence[str]) -> str | None:
    keys = [resolve(db, replica.caller, "task", key) for key in given]
    needed = edges(db, "depends_on")
    for key in keys:
        if reaches(key, held.id, needed):
            raise InvalidInput(
                f"task {key} waits for {held.id} itself", hint="leave it out", field="depends_on"
            )
    return text.json_list(keys)


def edges(db: Connection, column: str) -> dict[str, list[str]]:
    """Task -> parents or dependencies, seen or not: a cycle through a hidden task is one too."""
    sql = f"SELECT id, {column} FROM task WHERE {column} IS NOT NULL"
    found: list[Any] = db.execute(sql).fetchall()
    if column == "parent_id":
        return {key: [parent] for key, parent in found}
    return {key: text.stored_list(stored) for key, stored in found}
