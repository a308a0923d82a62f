"""Row kind `agent`: an agent that registered itself; its key is its own name."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that registered itself; its key is its own name.

    `capabilities` is a JSON array of text; `last_seen` moves in steps of five minutes or more.
    """

    agent_id: str
    description: str | None = None
    capabilities: str | None = None
    trust: float | None = None
    registered_at: int | None = None
    status: str | None = None
    last_seen: int | None = None


AGENT = table("agent", Agent, key="agent_id")
