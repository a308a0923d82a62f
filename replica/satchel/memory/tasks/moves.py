"""A task goes on, is blocked, ends or begins anew; whoever asked for it hears of its end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict
from satchel.memory import text
from satchel.memory.lookup import find_to_change, resolve_to_travel
from satchel.memory.messages.notify import notify
from satchel.memory.moments import iso
from satchel.memory.tasks import rows as task_rows
from satchel.memory.tasks.ready import tell_ready
from satchel.memory.tasks.states import FINISHED, move
from satchel_sync.tables import Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.replica import Replica

BLOCKED_REASON = "blocked_reason"
"""Key in a task's metadata that says what it waits for while it is blocked."""


def start(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002 - the column's name
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
        refuse_held(held, replica.caller.agent_id, now, replica.caller)
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
        changes |= _with_reason(held, reason) if status == "blocked" else without_reason(held)
        shown = task_rows.save(db, replica, held, **changes)
        if status in FINISHED:
            _tell_asker(db, replica, replace(held, **changes))
        if status == "completed":
            tell_ready(db, replica, held.id)
        return shown


def refuse_held(held: Task, who: str | None, now_ms: int, caller: Caller | None = None) -> None:
    """Raise Conflict when the lease of an agent other than `who` runs.

    With `caller`: the operator, a supervisor and who asked for the task may go on all the same.
    """
    if held.claimed_by == who or not task_rows.leased(held, now_ms):
        return
    if caller is not None and (caller.role != "agent" or held.created_by == caller.agent_id):
        return
    raise Conflict(
        f"task {held.id} is held by {held.claimed_by} until {iso(held.lease_until or 0)}",
        hint="wait for the lease to end, or ask its holder",
        field="id",
    )


def without_reason(held: Task) -> dict[str, Any]:
    """The change that takes the reason of a block away; other metadata stays, byte for byte."""
    metadata = _metadata(held)
    if metadata is None or BLOCKED_REASON not in metadata:
        return {}
    kept = {name: value for name, value in metadata.items() if name != BLOCKED_REASON}
    return {"metadata": text.json_object(kept) if kept else None}


def _with_reason(held: Task, reason: str | None) -> dict[str, Any]:
    metadata = _metadata(held)
    if metadata is None or reason is None:
        return {}
    return {"metadata": text.json_object({**metadata, BLOCKED_REASON: reason})}


def _metadata(held: Task) -> dict[str, Any] | None:
    """The metadata as an object; None when another writer left something else there."""
    try:
        found = json.loads(held.metadata) if held.metadata is not None else {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _tell_asker(db: Connection, replica: Replica, task: Task) -> None:
    if task.created_by not in (None, replica.caller.agent_id):
        notify(db, replica, str(task.created_by), f"task_{task.status}", task.title or "", task.id)
