"""Row kind `space`: a named pool of rows that several agents share."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A named pool of rows that several agents share.

    `members` and `grants` are JSON; without grants a space is open to all agents.
    """

    name: str
    description: str | None = None
    members: str | None = None
    grants: str | None = None
    created_at: int | None = None


SPACE = table("space", Space, key="name")
