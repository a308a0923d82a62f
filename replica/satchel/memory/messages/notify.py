"""A notification that the engine itself leaves for an agent, inside the write it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.store import rows
from satchel.store.message_order import next_at
from satchel_sync.tables import Message

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

NOTIFICATION = "notification"


def notify(
    db: Connection,
    replica: Replica,
    to_agent: str,
    title: str,
    content: str,
    task_id: str,
    *,
    named: bool = True,
) -> None:
    """Leave a message of kind `notification` about a task, from the caller if it is to be named.

    Who sends a message may read it: a caller that does not see the task must not be its sender.
    """
    now = replica.now_ms()
    sender = replica.caller.agent_id if named else None
    at = next_at(db, sender, to_agent, now)
    rows.insert(
        db,
        Message(
            id=rows.new_id(now),
            to_agent=to_agent,
            from_agent=sender,
            kind=NOTIFICATION,
            title=title,
            content=content.replace("\0", "\\0"),  # a title written by hand; NUL does not travel
            task_id=task_id,
            created_at=at,
        ),
    )
