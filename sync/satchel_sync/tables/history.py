"""Row kind `history`: what changed in a row: the event, the old and new fields, who and when."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What changed in a row: the event, the old and new fields, who and when.

    Append-only. `changes` is a JSON object {field: [old, new]}; after a delete it holds the
    whole old row.
    """

    id: str
    kind: str | None = None
    key: str | None = None
    event: str | None = None
    changes: str | None = None
    actor: str | None = None
    at: int | None = None


HISTORY = table("history", History)
