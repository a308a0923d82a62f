"""Reading tasks: one, those that fit, in the order in which they can be done, and the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.memory import audit, text
from satchel.memory.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX, TASKS_MAX, TREE_NODES_MAX
from satchel.memory.lookup import can_see, find, resolve, select
from satchel.memory.tasks import rows as task_rows
from satchel.memory.tasks.free import FREE
from satchel.memory.tasks.order import ordered
from satchel.memory.tasks.states import STATES
from satchel.memory.tasks.tree import cuts
from satchel_sync.tables import Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002 - the column's name
    """One task. Raises NotFound or AmbiguousId."""
    with replica.store.read() as db:
        shown = task_rows.shown(db, replica, find(db, replica.caller, Task, id))
    audit.record(replica, "get", [("task", shown["id"])])
    return shown


def list_tasks(
    replica: Replica,
    *,
    status: str | None = None,
    owner: str | None = None,
    claimed_by: str | None = None,
    parent: str | None = None,
    space: str | None = None,
    session: str | None = None,
    ready: bool = False,
    limit: int = LIST_ROWS_DEFAULT,
) -> dict[str, Any]:
    """Tasks in the order in which they can be done: `{items, total}`.

    `ready` leaves those that wait for nothing and that nobody holds.
    """
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    status = None if status is None else text.one_of(status, STATES, "status")
    caller = replica.caller
    params: dict[str, Any] = {
        **caller.params,
        "status": status,
        "owner": text.optional_name(owner, "owner"),
        "claimed_by": text.optional_name(claimed_by, "claimed_by"),
        "space": text.optional_name(space, "space"),
        "now": replica.now_ms(),
    }
    where = f"""{can_see(caller, "task")} AND (:status IS NULL OR t.status = :status)
        AND (:owner IS NULL OR t.owner_agent = :owner) AND (:space IS NULL OR t.space = :space)
        AND (:claimed_by IS NULL OR t.claimed_by = :claimed_by)
        AND (:parent IS NULL OR t.parent_id = :parent)
        AND (:session IS NULL OR t.session_id = :session) {f"AND {FREE}" if ready else ""}"""
    with replica.store.read() as db:
        params["parent"] = None if parent is None else resolve(db, caller, "task", parent)
        params["session"] = None if session is None else resolve(db, caller, "session", session)
        found = ordered(select(db, Task, where, params, f"ORDER BY t.id LIMIT {TASKS_MAX}"))
        if parent is not None:
            cut = cuts(db, [one.id for one in found])
            found = [one for one in found if one.id not in cut]
        shown = task_rows.show_all(db, replica, found[:limit])
    audit.record(replica, "list", [("task", one["id"]) for one in shown])
    return {"items": shown, "total": len(found)}


def tree(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """A task with `children`, and theirs, by the links that hold after any merge (`task_tree`)."""
    with replica.store.read() as db:
        root = find(db, replica.caller, Task, id)
        nodes = {root.id: {**task_rows.shown(db, replica, root), "children": []}}
        # Of a ring only one that the root is in can be met: a task has one parent.
        cut = cuts(db, [root.id])
        ring, truncated = [root.id], False
        while ring and not truncated:
            fresh = [
                one
                for one in task_rows.children(db, replica, ring)
                if one.id not in nodes and one.id not in cut
            ]
            truncated = len(nodes) + len(fresh) > TREE_NODES_MAX
            ring = _hang(db, replica, nodes, fresh[: TREE_NODES_MAX - len(nodes)])
    audit.record(replica, "tree", [("task", key) for key in nodes])
    return {**nodes[root.id], "truncated": truncated}


def _hang(
    db: Connection, replica: Replica, nodes: dict[str, dict[str, Any]], fresh: list[Task]
) -> list[str]:
    """Hang these below their parents; their ids."""
    for shown in task_rows.show_nodes(db, replica, fresh):
        nodes[shown["id"]] = {**shown, "children": []}
        nodes[shown["parent_id"]]["children"].append(nodes[shown["id"]])
    return [one.id for one in fresh]
