"""Row kind `message`: a hand-off, notification or note from one agent to another."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A hand-off, notification or note from one agent to another.

    Visible to its sender and its receiver; `context_ids` is a JSON array of memory ids.
    """

    id: str
    to_agent: str | None = None
    from_agent: str | None = None
    kind: str | None = None
    title: str | None = None
    content: str | None = None
    conversation_id: str | None = None
    task_id: str | None = None
    context_ids: str | None = None
    thread_id: str | None = None
    priority: int | None = None
    created_at: int | None = None
    expires_at: int | None = None
    acked_at: int | None = None
    dedup_key: str | None = None


MESSAGE = table("message", Message)
