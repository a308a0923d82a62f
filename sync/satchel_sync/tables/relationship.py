"""Row kind `relationship`: a directed, typed edge between two memories."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A directed, typed edge between two memories.

    An edge may arrive before its ends; it is shown only when both are visible.
    """

    id: str
    from_id: str | None = None
    to_id: str | None = None
    type: str | None = None
    weight: float | None = None
    metadata: str | None = None
    agent_id: str | None = None


RELATIONSHIP = table("relationship", Relationship)
