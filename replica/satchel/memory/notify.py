"""A notification that the engine itself leaves for an agent, inside the write it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.store import rows
from satchel_sync.tables import Message

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

NOTIFICATION = "notification"


def notify(
    db: Connection, replica: Replica, to_agent: str, title: str, content: str, task_id: str
) -> None:
    """Leave a message of kind `notification`, from the caller, about a task."""
    now = replica.now_ms()
    rows.insert(
        db,
        Message(
            id=rows.new_id(now),
            to_agent=to_agent,
            from_agent=replica.caller.agent_id,
            kind=NOTIFICATION,
            title=title,
            content=content,
            task_id=task_id,
            created_at=now,
        ),
    )
