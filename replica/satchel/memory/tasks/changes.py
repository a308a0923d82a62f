"""Tasks are made, changed in part, given to an agent, deleted; a partial update loses no field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, InvalidInput
from satchel.memory import ownership, text
from satchel.memory.limits import DEPENDS_ON_MAX
from satchel.memory.lookup import find_to_change, resolve, resolve_to_travel
from satchel.memory.messages.notify import notify
from satchel.memory.tasks import rows as task_rows
from satchel.memory.tasks.ready import tell_ready
from satchel.store import claims, rows
from satchel_sync.tables import TASK, Task

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

PRIORITY_MAX = 2**31
ASSIGNED = "task_assigned"
CLEARABLE = {
    "description": "description",
    "parent": "parent_id",
    "owner": "owner_agent",
    "due": "due_at",
    "depends_on": "depends_on",
    "result": "result",
    "result_memory": "result_memory_id",
    "metadata": "metadata",
}
"""What an update can take away: its name at the doors -> the column."""


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
        settled = ownership.settle(db, caller, ownership.placed(db, caller, whose))
        draft = replace(
            draft,
            scope=settled.scope,
            space=settled.space,
            user_id=settled.user_id,
            session_id=settled.session_id,
            parent_id=resolve(db, caller, "task", parent) if parent is not None else None,
            depends_on=text.json_list([resolve(db, caller, "task", key) for key in wanted]),
        )
        rows.insert(db, draft)
        _tell_owner(db, replica, draft)
        return task_rows.shown(db, replica, draft)


def assign(replica: Replica, id: str, owner: str) -> dict[str, Any]:  # noqa: A002
    """Give a task to an agent, who is notified; a claim of somebody else ends, and is told so."""
    return update(replica, id, owner=owner)


def update(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    title: str | None = None,
    description: str | None = None,
    parent: str | None = None,
    owner: str | None = None,
    priority: int | None = None,
    due_at: int | None = None,
    depends_on: Sequence[str] | None = None,
    result: str | None = None,
    result_memory: str | None = None,
    metadata: Mapping[str, Any] | str | None = None,
    clear: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Change what is given and take away what `clear` names, nothing else, in any state.

    Raises InvalidInput for a cycle of parents or needs, and for a column both given and cleared.
    """
    changes: dict[str, Any] = {
        "title": None if title is None else _title(title),
        "description": text.optional_long(description, "description"),
        "owner_agent": text.optional_name(owner, "owner"),
        "priority": text.optional_whole(priority, "priority", -PRIORITY_MAX, PRIORITY_MAX),
        "due_at": text.time_ms(due_at, "due_at"),
        "result": text.optional_long(result, "result"),
        "metadata": text.json_object(metadata),
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    wanted = None if depends_on is None else text.names(depends_on, "depends_on", DEPENDS_ON_MAX)
    given = {"parent_id": parent, "depends_on": wanted, "result_memory_id": result_memory}
    named = {*changes, *(column for column, value in given.items() if value is not None)}
    changes |= _cleared(clear, named)
    if not changes and not named:
        raise InvalidInput("nothing to update was given", hint="give `--title`, `--priority`, …")
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        if parent is not None:
            changes["parent_id"] = task_rows.new_parent(db, replica, held, parent)
        if wanted is not None:
            changes["depends_on"] = task_rows.new_needs(db, replica, held, wanted)
        if result_memory is not None:
            changes["result_memory_id"] = resolve_to_travel(
                db, replica.caller, result_memory, "result_memory"
            )
        changes |= _without_claim(held, changes)
        shown = task_rows.save(db, replica, held, **changes)
        if changes.get("owner_agent", held.owner_agent) != held.owner_agent:
            _tell_owner(db, replica, replace(held, **changes))
        return shown


def delete(replica: Replica, id: str, confirm: bool = False) -> dict[str, Any]:  # noqa: A002
    """Empty a task into a tombstone; its parts stay. Raises ConfirmationNeeded, Refused."""
    if confirm is not True:
        raise ConfirmationNeeded(
            "deleting a task needs `confirm`", hint="give `--yes` or `confirm: true`"
        )
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Task, id)
        rows.delete(db, TASK, held.id)
        if task_rows.holds(held, replica.caller.agent_id):
            claims.drop(db, held.id)
        claims.settle(db, replica.now_ms())
        tell_ready(db, replica, held.id)
    return {"id": held.id, "outcome": "deleted"}


def _cleared(clear: Sequence[str] | None, given: set[str]) -> dict[str, None]:
    """The columns to be emptied. Raises InvalidInput for one that is given as well."""
    found: dict[str, None] = {}
    for name in text.names(clear, "clear"):
        column = CLEARABLE[text.one_of(name, CLEARABLE, "clear")]
        if column in given:
            raise InvalidInput(
                f"`{name}` is both given and cleared", hint="leave one of them out", field="clear"
            )
        found[column] = None
    return found


def _without_claim(held: Task, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A new owner ends the claim of another: the task waits to be claimed again."""
    owner = changes.get("owner_agent")
    if owner is None or held.claimed_by in (None, owner):
        return {}
    again = {"status": "pending"} if held.status == "in_progress" else {}
    return {"claimed_by": None, "lease_until": None, **again}


def _title(title: str) -> str:
    found = text.optional_text(title, "title")
    if found is None:
        raise InvalidInput("`title` is empty", hint="say what is to be done", field="title")
    return found


def _tell_owner(db: Connection, replica: Replica, task: Task) -> None:
    if task.owner_agent not in (None, replica.caller.agent_id):
        notify(db, replica, str(task.owner_agent), ASSIGNED, task.title or "", task.id)
