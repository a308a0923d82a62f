"""Row kind `chatlog`: one turn of a conversation, redacted before it was written."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatlog:
    """One turn of a conversation, redacted before it was written.

    Rows order by (conversation, ordinal), not by arrival. `cost` is in US dollars.
    """

    id: str
    conversation_id: str | None = None
    ordinal: int | None = None
    role: str | None = None
    content: str | None = None
    scope: str | None = None
    space: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    host_agent: str | None = None
    provider: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    metadata: str | None = None
    redactions: int | None = None
    said_at: int | None = None


CHATLOG = table("chatlog", Chatlog)
