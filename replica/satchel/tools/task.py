"""Tools on tasks: create, claim, change state, read, tree, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from satchel.memory.tasks import tasks
from satchel.tools.kinds import Count, Id, Json, Range, Text, Time, Wait
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica

Priority = Annotated[int, Range(-1_000_000, 1_000_000)]
Lease = Annotated[int, Range(1, 7 * 86_400)]
Clearable = Literal[
    "description", "parent", "owner", "due", "depends_on", "result", "result_memory", "metadata"
]
Status = Literal["pending", "in_progress", "blocked", "completed", "failed", "cancelled"]


@tool(positional=("title",))
def task_create(
    replica: Replica,
    title: str,
    description: Text | None = None,
    parent: Id | None = None,
    owner: str | None = None,
    priority: Priority = 0,
    due: Time | None = None,
    depends_on: list[Id] | None = None,
    scope: str | None = None,
    space: str | None = None,
    session: Id | None = None,
    metadata: Json | None = None,
) -> dict[str, Any]:
    """Create a task.

    title: What is to be done
    description: All that helps to do it
    parent: The task it is a part of
    owner: The agent that shall do it
    priority: The larger comes first
    due: When it should be done
    depends_on: Tasks that must be done before
    scope: agent, session, space, user or org
    space: A shared pool
    session: The session it belongs to
    metadata: Anything else
    """
    return tasks.create(
        replica,
        title,
        description=description,
        parent=parent,
        owner=owner,
        priority=priority,
        due_at=due,
        depends_on=depends_on,
        scope=scope,
        space=space,
        session=session,
        metadata=metadata,
    )


@tool(positional=("id",))
def task_claim(
    replica: Replica,
    id: Id,  # noqa: A002 (the column's name)
    lease: Lease = 900,
) -> dict[str, Any]:
    """Take a task for a while; a second claimer is told who holds it until when.

    The holder claims again to keep it for longer, and is notified if it loses it.

    id: The task
    lease: Seconds until others may claim it
    """
    return tasks.claim(replica, id, lease_ms=lease * 1000)


@tool()
def task_next(
    replica: Replica,
    space: str | None = None,
    parent: Id | None = None,
    lease: Lease = 900,
    wait: Wait = 0,
) -> dict[str, Any]:
    """Claim the first task that can be done now; null when there is none.

    Only of those that are the caller's or nobody's, that wait for nothing and that nobody holds.

    space: Only of this space
    parent: Only parts of this task
    lease: Seconds until others may claim it
    wait: Seconds to wait until there is one
    """
    return tasks.claim_next(
        replica,
        space=space,
        parent=parent,
        lease_ms=lease * 1000,
        wait_ms=round(wait * 1000),
    )


@tool(positional=("id",))
def task_release(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Give a claimed task back, for others to claim.

    id: The task
    """
    return tasks.release(replica, id)


@tool(positional=("id", "owner"))
def task_assign(replica: Replica, id: Id, owner: str) -> dict[str, Any]:  # noqa: A002
    """Give a task to an agent, who is notified.

    id: The task
    owner: The agent that shall do it
    """
    return tasks.assign(replica, id, owner)


@tool(positional=("id",))
def task_update(
    replica: Replica,
    id: Id,  # noqa: A002
    title: str | None = None,
    description: Text | None = None,
    parent: Id | None = None,
    owner: str | None = None,
    priority: Priority | None = None,
    due: Time | None = None,
    depends_on: list[Id] | None = None,
    result: Text | None = None,
    result_memory: Id | None = None,
    metadata: Json | None = None,
    clear: list[Clearable] | None = None,
) -> dict[str, Any]:
    """Change a task, in any state; what is not given stays.

    id: The task
    title: What is to be done
    description: All that helps to do it
    parent: The task it is a part of
    owner: The agent that shall do it
    priority: The larger comes first
    due: When it should be done
    depends_on: Tasks that must be done before
    result: What came of it
    result_memory: The memory that tells it
    metadata: Replaces the old one
    clear: What to take away
    """
    return tasks.update(
        replica,
        id,
        title=title,
        description=description,
        parent=parent,
        owner=owner,
        priority=priority,
        due_at=due,
        depends_on=depends_on,
        result=result,
        result_memory=result_memory,
        metadata=metadata,
        clear=clear,
    )


@tool(positional=("id",))
def task_start(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Say that work on a task goes on.

    id: The task
    """
    return tasks.start(replica, id)


@tool(positional=("id",))
def task_block(
    replica: Replica,
    id: Id,  # noqa: A002
    reason: Text | None = None,
) -> dict[str, Any]:
    """Say that a task cannot go on.

    id: The task
    reason: What it waits for
    """
    return tasks.block(replica, id, reason)


@tool(positional=("id",))
def task_complete(
    replica: Replica,
    id: Id,  # noqa: A002
    result: Text | None = None,
    result_memory: Id | None = None,
) -> dict[str, Any]:
    """Say that a task is done.

    id: The task
    result: What came of it
    result_memory: The memory that tells it
    """
    return tasks.complete(replica, id, result, result_memory=result_memory)


@tool(positional=("id",))
def task_fail(
    replica: Replica,
    id: Id,  # noqa: A002
    result: Text | None = None,
) -> dict[str, Any]:
    """Say that a task failed.

    id: The task
    result: Why
    """
    return tasks.fail(replica, id, result)


@tool(positional=("id",))
def task_cancel(
    replica: Replica,
    id: Id,  # noqa: A002
    result: Text | None = None,
) -> dict[str, Any]:
    """Say that a task is not wanted any more.

    id: The task
    result: Why
    """
    return tasks.cancel(replica, id, result)


@tool(positional=("id",))
def task_reopen(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Make an ended task pending again.

    id: The task
    """
    return tasks.reopen(replica, id)


@tool(positional=("id",), writes=False)
def task_get(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Read a task.

    id: The task
    """
    return tasks.get(replica, id)


@tool(writes=False)
def task_list(
    replica: Replica,
    status: Status | None = None,
    owner: str | None = None,
    claimed_by: str | None = None,
    parent: Id | None = None,
    space: str | None = None,
    session: Id | None = None,
    ready: bool = False,
    limit: Count = 50,
) -> dict[str, Any]:
    """List tasks: what can be done first, by priority.

    status: Only in this state
    owner: Only those assigned to this agent
    claimed_by: Only those that this agent has claimed
    parent: Only parts of this task
    space: Only of this space
    session: Only of this session
    ready: Only those that wait for nothing and that nobody holds
    limit: How many at most
    """
    return tasks.list_tasks(
        replica,
        status=status,
        owner=owner,
        claimed_by=claimed_by,
        parent=parent,
        space=space,
        session=session,
        ready=ready,
        limit=limit,
    )


@tool(positional=("id",), writes=False)
def task_tree(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """A task with its parts, and theirs.

    id: The task at the top
    """
    return tasks.tree(replica, id)


@tool(positional=("id",), destructive=True)
def task_delete(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002
    """Delete a task.

    id: The task
    """
    return tasks.delete(replica, id, confirm=True)
