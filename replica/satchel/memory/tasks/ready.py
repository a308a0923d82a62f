"""Whoever waits for a task hears when it can go on: the owners of what depended on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.memory.lookup import sees, select
from satchel.memory.messages.notify import notify
from satchel.memory.tasks.free import FREE
from satchel.store.sql import alive
from satchel_sync.tables import Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

READY = "task_ready"


def tell_ready(db: Connection, replica: Replica, done: str) -> None:
    """Notify the owner of each task that waited for `done` and waits for nothing any more.

    Told by the machine on which the last one ended. Where two machines end one each at the same
    time, neither sees the last one: `claim_next` finds the task all the same.
    """
    where = f"""{alive("t")} AND {FREE} AND t.depends_on IS NOT NULL AND t.claimed_by IS NULL
        AND t.owner_agent IS NOT NULL AND t.owner_agent IS NOT :caller
        AND EXISTS (SELECT 1 FROM json_each(iif(json_valid(t.depends_on), t.depends_on, '[]'))
                    WHERE value = :done)"""
    params = {"now": replica.now_ms(), "caller": replica.caller.agent_id, "done": done}
    for task in select(db, Task, where, params, "ORDER BY t.id"):
        named = sees(db, replica.caller, "task", task.id)
        notify(db, replica, str(task.owner_agent), READY, task.title or "", task.id, named=named)
