"""Row kind `session`: a stretch of work that agents share and that ends in one summary."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stretch of work that agents share and that ends in one summary.

    `agent_ids` is a JSON array of the participants.
    """

    id: str
    title: str | None = None
    scope: str | None = None
    space: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    agent_ids: str | None = None
    opened_at: int | None = None
    closed_at: int | None = None
    summary_memory_id: str | None = None


SESSION = table("session", Session)
