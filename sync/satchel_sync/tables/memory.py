"""Row kind `memory`: what an agent knows: one fact, decision, note or procedure."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What an agent knows: one fact, decision, note or procedure.

    `metadata` is JSON text kept byte for byte, `aliases` a JSON array of text, `local` and
    `pinned` 1 or NULL. `importance` and `confidence` lie in 0..1.
    Times are UTC milliseconds; NULL ends are open.
    """

    id: str
    type: str | None = None
    title: str | None = None
    content: str | None = None
    metadata: str | None = None
    scope: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    space: str | None = None
    local: int | None = None
    importance: float | None = None
    confidence: float | None = None
    pinned: int | None = None
    source: str | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    valid_to_was: int | None = None
    recorded_at: int | None = None
    retired_at: int | None = None
    expires_at: int | None = None
    supersedes: str | None = None
    aliases: str | None = None
    content_hash: str | None = None


MEMORY = table("memory", Memory)
