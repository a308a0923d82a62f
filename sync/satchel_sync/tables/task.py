"""Row kind `task`: a piece of work: who does it, how far it is, what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of work: who does it, how far it is, what came of it.

    `status` is pending, in_progress, blocked, completed, failed or cancelled; `depends_on` a
    JSON array of task ids; a larger `priority` comes first.
    """

    id: str
    title: str | None = None
    description: str | None = None
    status: str | None = None
    priority: int | None = None
    scope: str | None = None
    space: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    owner_agent: str | None = None
    created_by: str | None = None
    parent_id: str | None = None
    depends_on: str | None = None
    session_id: str | None = None
    due_at: int | None = None
    claimed_by: str | None = None
    lease_until: int | None = None
    result: str | None = None
    result_memory_id: str | None = None
    metadata: str | None = None
    created_at: int | None = None
    completed_at: int | None = None


TASK = table("task", Task)
