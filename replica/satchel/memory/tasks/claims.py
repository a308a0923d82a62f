"""Claims: an agent takes a task for a while, one agent at a time, and gives it back or loses it.

On one machine a claim is atomic: it is decided and written in one transaction. Across machines the
last write wins, and whoever loses by that is told (`store/claims.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.errors import Conflict, InvalidInput
from satchel.memory import ownership, text
from satchel.memory.limits import LEASE_MS_DEFAULT, LEASE_MS_MAX, WAIT_MS_MAX
from satchel.memory.lookup import can_see, find_to_change, resolve, select
from satchel.memory.messages.waiting import until
from satchel.memory.tasks import rows as task_rows
from satchel.memory.tasks.free import FIRST, FREE
from satchel.memory.tasks.moves import refuse_held, without_reason
from satchel.memory.tasks.states import move
from satchel.store import claims
from satchel_sync.tables import Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


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
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        move("claim", held.id, held.status)
        refuse_held(held, who, replica.now_ms())
        _refuse_owned(held, who)
        _refuse_waiting(db, held)
        return _take(db, replica, held, who, lease_ms)


def claim_next(
    replica: Replica,
    *,
    space: str | None = None,
    parent: str | None = None,
    lease_ms: int = LEASE_MS_DEFAULT,
    wait_ms: int = 0,
    agent: str | None = None,
) -> dict[str, Any]:
    """Take the first task that can be done now: `{task}`, None when there is none within the wait.

    First is the largest priority, then the nearest due date, then the oldest; only tasks that are
    assigned to this agent or to nobody, wait for nothing and are held by nobody.
    """
    lease_ms = text.whole(lease_ms, "lease", 1, LEASE_MS_MAX)
    wait_ms = text.whole(wait_ms, "wait", 0, WAIT_MS_MAX)
    who = _agent(replica, agent)
    params: dict[str, Any] = {
        **replica.caller.params,
        "who": who,
        "space": text.optional_name(space, "space"),
        "parent": None,
    }
    if parent is not None:
        with replica.store.read() as db:
            params["parent"] = resolve(db, replica.caller, "task", parent)

    def taken() -> dict[str, Any] | None:
        with replica.store.read() as db:
            if not _first(db, replica, params):
                return None
        with replica.store.write(replica.actor) as db:
            found = _first(db, replica, params)  # it may be gone since
            return _take(db, replica, found[0], who, lease_ms) if found else None

    return {"task": until(replica, taken, wait_ms)}


def release(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Give a claimed task back: it is pending again, and nobody's. Raises Conflict, Refused."""
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        status = move("release", held.id, held.status)
        refuse_held(held, replica.caller.agent_id, replica.now_ms(), replica.caller)
        changes = {"status": status, "claimed_by": None, "lease_until": None}
        return task_rows.save(db, replica, held, **changes, **without_reason(held))


def _take(db: Connection, replica: Replica, held: Task, who: str, lease_ms: int) -> dict[str, Any]:
    """Write the claim. Whoever renews one of a blocked task leaves it blocked."""
    changes: dict[str, Any] = {"claimed_by": who, "lease_until": replica.now_ms() + lease_ms}
    if not (held.status == "blocked" and held.claimed_by == who):
        changes |= {"status": "in_progress", **without_reason(held)}
    shown = task_rows.save(db, replica, held, **changes)
    claims.keep(db, held.id, who)
    return shown


def _first(db: Connection, replica: Replica, params: dict[str, Any]) -> list[Task]:
    where = f"""{can_see(replica.caller, "task", access="write")} AND {FREE}
        AND (t.owner_agent IS NULL OR t.owner_agent = :who)
        AND (:space IS NULL OR t.space = :space) AND (:parent IS NULL OR t.parent_id = :parent)"""
    now = {"now": replica.now_ms()}
    return select(db, Task, where, {**params, **now}, f"ORDER BY {FIRST} LIMIT 1")


def _refuse_owned(held: Task, who: str) -> None:
    if held.owner_agent not in (None, who):
        raise Conflict(
            f"task {held.id} is assigned to {held.owner_agent}",
            hint="`task assign` gives it to another agent",
            field="id",
        )


def _refuse_waiting(db: Connection, held: Task) -> None:
    waiting = task_rows.waiting(db, held)
    if waiting:
        raise Conflict(
            f"task {held.id} waits for {', '.join(waiting[:8])}",
            hint="complete those first, or update `depends_on`",
            field="depends_on",
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
