"""Tasks: create, claim with a lease, change state, read; a partial update loses no field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, Conflict, InvalidInput
from satchel.memory import audit, ownership, task_rows, text
from satchel.memory.limits import (
    DEPENDS_ON_MAX,
    LEASE_MS_DEFAULT,
    LEASE_MS_MAX,
    LIST_ROWS_DEFAULT,
    LIST_ROWS_MAX,
    TASKS_MAX,
    TREE_NODES_MAX,
)
from satchel.memory.lookup import can_see, find, find_to_change, resolve, resolve_to_travel, select
from satchel.memory.moments import iso
from satchel.memory.notify import notify
from satchel.memory.task_order import ordered
from satchel.memory.task_states import FINISHED, STATES, move
from satchel.store import rows
from satchel_sync.tables import TASK, Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

PRIORITY_MAX = 2**31
BLOCKED_REASON = "blocked_reason"
"""Key in a task's metadata that says what it waits for while it is blocked."""


def create(
    replica: Replica,
    title: str,
    *,
    description: str | None = None,
    parent: str | None = None,
    owner: str | None = None,
    priority: int = 0,
    due_at: int | None = None,
    depends_on: Sequence[str] | None = None,
    scope: str | None = None,
    space: str | None = None,
    session: str | None = None,
    metadata: Mapping[str, Any] | str | None = None,
) -> dict[str, Any]:
    """A new pending task. Its owner is notified and sees it whatever its scope.

    Raises InvalidInput, NotFound (parent, dependency, session, closed space).
    """
    caller, now = replica.caller, replica.now_ms()
    whose = ownership.decide(caller, scope=scope, space=space, session=session)
    draft = Task(
        id=rows.new_id(now),
        title=_title(title),
        description=text.optional_long(description, "description"),
        status="pending",
        priority=text.whole(priority, "priority", -PRIORITY_MAX, PRIORITY_MAX),
        scope=whose.scope,
        space=whose.space,
        user_id=whose.user_id,
        agent_id=whose.agent_id,
        owner_agent=text.optional_name(owner, "owner"),
        created_by=caller.agent_id,
        due_at=text.time_ms(due_at, "due_at"),
        metadata=text.json_object(metadata),
        created_at=now,
    )
    wanted = text.names(depends_on, "depends_on", DEPENDS_ON_MAX)
    with replica.store.write(replica.actor) as db:
        settled = ownership.settle(db, caller, whose)
        draft = replace(
            draft,
            session_id=settled.session_id,
            parent_id=resolve(db, caller, "task", parent) if parent is not None else None,
            depends_on=text.json_list([resolve(db, caller, "task", key) for key in wanted]),
        )
        rows.insert(db, draft)
        _notify_owner(db, replica, draft)
        return task_rows.shown(db, replica, draft)


def claim(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    lease_ms: int = LEASE_MS_DEFAULT,
    agent: str | None = None,
) -> dict[str, Any]:
    """Take a task for a while, atomically on this machine; the holder's second claim renews it.

    Raises Conflict naming who holds it until when, or what it waits for; InvalidInput when no agent
    is known.
    """
    lease_ms = text.whole(lease_ms, "lease", 1, LEASE_MS_MAX)
    who = _agent(replica, agent)
    now = replica.now_ms()
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        status = move("claim", held.id, held.status)
        _refuse_held(held, who, now)
        if held.owner_agent not in (None, who):
            raise Conflict(
                f"task {held.id} is assigned to {held.owner_agent}",
                hint="`task assign` gives it to another agent",
                field="id",
            )
        waiting = task_rows.waiting(db, held)
        if waiting:
            raise Conflict(
                f"task {held.id} waits for {', '.join(waiting[:8])}",
                hint="complete those first, or update `depends_on`",
                field="depends_on",
            )
        return task_rows.save(
            db, replica, held, status=status, claimed_by=who, lease_until=now + lease_ms
        )


def assign(replica: Replica, id: str, owner: str) -> dict[str, Any]:  # noqa: A002
    """Give a task to an agent, who is notified; a lease of somebody else ends."""
    return update(replica, id, owner=owner)


def update(
    replica: Replica,
    id: str,  # noqa: A002
    *,
    title: str | None = None,
    description: str | None = None,
    parent: str | None = None,
    owner: str | None = None,
    priority: int | None = None,
    due_at: int | None = None,
    depends_on: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | str | None = None,
) -> dict[str, Any]:
    """Change what is given, nothing else. Raises InvalidInput for a cycle of parents or needs."""
    changes: dict[str, Any] = {
        "title": None if title is None else _title(title),
        "description": text.optional_long(description, "description"),
        "owner_agent": text.optional_name(owner, "owner"),
        "priority": text.optional_whole(priority, "priority", -PRIORITY_MAX, PRIORITY_MAX),
        "due_at": text.time_ms(due_at, "due_at"),
        "metadata": text.json_object(metadata),
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    wanted = None if depends_on is None else text.names(depends_on, "depends_on", DEPENDS_ON_MAX)
    if not changes and parent is None and wanted is None:
        raise InvalidInput("nothing to update was given", hint="give `--title`, `--priority`, …")
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        if parent is not None:
            changes["parent_id"] = task_rows.new_parent(db, replica, held, parent)
        if wanted is not None:
            changes["depends_on"] = task_rows.new_needs(db, replica, held, wanted)
        if changes.get("owner_agent", held.claimed_by) != held.claimed_by:
            changes |= {"claimed_by": None, "lease_until": None}
        shown = task_rows.save(db, replica, held, **changes)
        if "owner_agent" in changes and changes["owner_agent"] != held.owner_agent:
            _notify_owner(db, replica, replace(held, **changes))
        return shown


def start(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Work goes on."""
    return _move(replica, id, "start")


def block(replica: Replica, id: str, reason: str | None = None) -> dict[str, Any]:  # noqa: A002
    """It cannot go on; the reason stands in the metadata until it is started again."""
    return _move(replica, id, "block", reason=text.optional_text(reason, "reason"))


def complete(
    replica: Replica,
    id: str,  # noqa: A002
    result: str | None = None,
    *,
    result_memory: str | None = None,
) -> dict[str, Any]:
    """It is done; who asked for it is notified."""
    return _move(replica, id, "complete", result=result, result_memory=result_memory)


def fail(replica: Replica, id: str, result: str | None = None) -> dict[str, Any]:  # noqa: A002
    """It failed; who asked for it is notified."""
    return _move(replica, id, "fail", result=result)


def cancel(replica: Replica, id: str, result: str | None = None) -> dict[str, Any]:  # noqa: A002
    """It is not wanted any more."""
    return _move(replica, id, "cancel", result=result)


def reopen(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """An ended task becomes pending again; its result stays until there is a new one."""
    return _move(replica, id, "reopen")


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
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
    parent: str | None = None,
    space: str | None = None,
    ready: bool = False,
    limit: int = LIST_ROWS_DEFAULT,
) -> dict[str, Any]:
    """Tasks in the order in which they can be done: `{items, total}`.

    `ready` leaves those that are pending and wait for nothing.
    """
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    status = None if status is None else text.one_of(status, STATES, "status")
    params: dict[str, Any] = {
        **replica.caller.params,
        "status": status,
        "owner": text.optional_name(owner, "owner"),
        "space": text.optional_name(space, "space"),
        "parent": None,
    }
    where = f"""{can_see(replica.caller, "task")} AND (:status IS NULL OR t.status = :status)
        AND (:owner IS NULL OR t.owner_agent = :owner) AND (:space IS NULL OR t.space = :space)
        AND (:parent IS NULL OR t.parent_id = :parent)"""
    with replica.store.read() as db:
        if parent is not None:
            params["parent"] = resolve(db, replica.caller, "task", parent)
        found = ordered(select(db, Task, where, params, f"ORDER BY t.id LIMIT {TASKS_MAX}"))
        shown = [task_rows.shown(db, replica, task) for task in found]
    if ready:
        shown = [one for one in shown if one["ready"]]
    audit.record(replica, "list", [("task", one["id"]) for one in shown[:limit]])
    return {"items": shown[:limit], "total": len(shown)}


def tree(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """A task with `children`, and theirs. A cycle that a merge has made is cut where it closes."""
    with replica.store.read() as db:
        root = find(db, replica.caller, Task, id)
        nodes = {root.id: {**task_rows.shown(db, replica, root), "children": []}}
        ring, truncated = [root.id], False
        while ring and not truncated:
            children = task_rows.children(db, replica, ring)
            ring = []
            for child in children:
                if child.id in nodes:
                    continue
                if len(nodes) >= TREE_NODES_MAX:
                    truncated = True
                    break
                nodes[child.id] = {**task_rows.shown(db, replica, child), "children": []}
                nodes[child.parent_id or ""]["children"].append(nodes[child.id])
                ring.append(child.id)
    audit.record(replica, "tree", [("task", key) for key in nodes])
    return {**nodes[root.id], "truncated": truncated}


def delete(replica: Replica, id: str, confirm: bool = False) -> dict[str, Any]:  # noqa: A002
    """Empty a task into a tombstone; its parts stay. Raises ConfirmationNeeded, Refused."""
    if confirm is not True:
        raise ConfirmationNeeded(
            "deleting a task needs `confirm`", hint="give `--yes` or `confirm: true`"
        )
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        rows.delete(db, TASK, held.id)
    return {"id": held.id, "outcome": "deleted"}


# ---- changes of state ---------------------------------------------------------------------------


def _move(
    replica: Replica,
    given: str,
    verb: str,
    *,
    result: str | None = None,
    result_memory: str | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    result = text.optional_long(result, "result")
    now = replica.now_ms()
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, given)
        status = move(verb, held.id, held.status)
        if replica.caller.role == "agent" and held.created_by != replica.caller.agent_id:
            _refuse_held(held, replica.caller.agent_id, now)
        changes: dict[str, Any] = {"status": status}
        if result is not None:
            changes["result"] = result
        if result_memory is not None:
            changes["result_memory_id"] = resolve_to_travel(
                db, replica.caller, result_memory, "result_memory"
            )
        if status in FINISHED:
            changes |= {"completed_at": now, "lease_until": None}
        if verb == "reopen":
            changes |= {"completed_at": None, "claimed_by": None, "lease_until": None}
        changes |= _reason(held, status, reason)
        shown = task_rows.save(db, replica, held, **changes)
        if status in FINISHED:
            _notify_asker(db, replica, replace(held, **changes))
        return shown


def _reason(held: Task, status: str, reason: str | None) -> dict[str, Any]:
    """Set or take away the reason of a block; other metadata stays as it is, byte for byte."""
    metadata = _metadata(held)
    if metadata is None:
        return {}
    kept = {name: value for name, value in metadata.items() if name != BLOCKED_REASON}
    reason = reason or metadata.get(BLOCKED_REASON)
    if status == "blocked" and reason is not None:
        kept[BLOCKED_REASON] = reason
    if kept == metadata:
        return {}
    return {"metadata": text.json_object(kept) if kept else None}


def _metadata(held: Task) -> dict[str, Any] | None:
    """The metadata as an object; None when another writer left something else there."""
    try:
        found = json.loads(held.metadata) if held.metadata is not None else {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _refuse_held(held: Task, who: str | None, now_ms: int) -> None:
    """Raise Conflict when another agent's lease has not run out."""
    if held.claimed_by in (None, who) or (held.lease_until or 0) <= now_ms:
        return
    until = iso(held.lease_until or 0)
    raise Conflict(
        f"task {held.id} is held by {held.claimed_by} until {until}",
        hint="wait for the lease to end, or ask its holder",
        field="id",
    )


def _agent(replica: Replica, given: str | None) -> str:
    who = ownership.author(replica.caller, text.optional_name(given, "agent"))
    if who is None:
        raise InvalidInput(
            "a claim needs an agent, and none is known",
            hint="give `--agent`, or set `agent.id`",
            field="agent",
        )
    return who


def _title(title: str) -> str:
    found = text.optional_text(title, "title")
    if found is None:
        raise InvalidInput("`title` is empty", hint="say what is to be done", field="title")
    return found


def _notify_owner(db: Connection, replica: Replica, task: Task) -> None:
    if task.owner_agent not in (None, replica.caller.agent_id):
        notify(db, replica, str(task.owner_agent), "task_assigned", task.title or "", task.id)


def _notify_asker(db: Connection, replica: Replica, task: Task) -> None:
    if task.created_by not in (None, replica.caller.agent_id):
        notify(db, replica, str(task.created_by), f"task_{task.status}", task.title or "", task.id)
