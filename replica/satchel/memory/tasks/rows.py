"""Rows of tasks: what is stored, what is shown beside it, and edges that must not close a cycle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.memory import text
from satchel.memory.lookup import can_see, resolve, select
from satchel.memory.tasks.order import ordered, reaches, waits_for
from satchel.memory.tasks.states import FINISHED, state_of
from satchel.memory.tasks.tree import Cut, cuts
from satchel.memory.view import plain
from satchel.store import claims, rows
from satchel.store.sql import alive
from satchel_sync.tables import TASK, Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

COMPLETED = "completed"


def save(db: Connection, replica: Replica, held: Task, **changes: Any) -> dict[str, Any]:
    """Store changed columns, tell whoever loses its claim by that, show the task as it is now."""
    now = replace(held, **changes)
    rows.update(db, TASK, held.id, **changes)
    if held.claimed_by == replica.caller.agent_id and not holds(now, held.claimed_by):
        claims.drop(db, held.id)  # the holder's own act
    claims.settle(db, replica.now_ms())
    return shown(db, replica, now)


def holds(task: Task, agent: str | None) -> bool:
    """Whether this agent has claimed the task and it is not ended; its lease may have run out."""
    return agent is not None and task.claimed_by == agent and task.status not in FINISHED


def leased(task: Task, now_ms: int) -> bool:
    """Whether somebody's lease on the task runs."""
    return task.claimed_by is not None and (task.lease_until or 0) > now_ms


def shown(db: Connection, replica: Replica, task: Task) -> dict[str, Any]:
    """One task as `show_all` shows it."""
    return show_all(db, replica, [task])[0]


def show_all(db: Connection, replica: Replica, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Every column, what each waits for, whether it can be taken, whether its lease runs.

    `stale`: it was claimed and the lease has run out. `parent_cut`: why the link to the parent does
    not hold (see `task_tree`).
    """
    cut = cuts(db, [task.id for task in tasks if task.parent_id is not None])
    return _beside(db, replica.now_ms(), tasks, cut)


def show_nodes(db: Connection, replica: Replica, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """As `show_all`, of tasks that hang in a tree: their links are known to hold."""
    return _beside(db, replica.now_ms(), tasks, {})


def _beside(
    db: Connection, now_ms: int, tasks: Sequence[Task], cut: dict[str, Cut]
) -> list[dict[str, Any]]:
    status_of = _statuses(db, tasks)
    found = []
    for task in tasks:
        before = [] if task.status in FINISHED else waits_for(task, status_of)
        running, state = leased(task, now_ms), state_of(task.status)
        stale = state not in FINISHED and task.claimed_by is not None and not running
        free = state == "pending" or (state == "in_progress" and stale)
        found.append(
            {
                "kind": "task",
                **plain(task),
                "waits_for": before,
                "ready": free and not before and not running,
                "leased": running,
                "stale": stale,
                "parent_cut": cut.get(task.id),
            }
        )
    return found


def waiting(db: Connection, task: Task) -> list[str]:
    """Dependencies of an open task that are not completed."""
    return [] if task.status in FINISHED else waits_for(task, _statuses(db, [task]))


def _statuses(db: Connection, tasks: Sequence[Task]) -> dict[str, str | None]:
    """Status of every dependency of these tasks; a deleted one holds nobody up, as a done one."""
    needed = {key for task in tasks for key in text.stored_list(task.depends_on)}
    if not needed:
        return {}
    sql = f"""SELECT t.id, iif({alive("t")}, t.status, '{COMPLETED}') FROM json_each(?) AS wanted
              JOIN task AS t ON t.id = wanted.value"""
    found: list[Any] = db.execute(sql, (json.dumps(sorted(needed)),)).fetchall()
    return dict(found)


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
    """The dependencies that were given. Raises InvalidInput when one waits for the task itself."""
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
