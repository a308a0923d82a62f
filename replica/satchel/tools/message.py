"""Tools on messages between agents: send, inbox, get, thread, ack; notifications are among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from satchel.memory.messages import messages
from satchel.tools.kinds import Count, Id, Range, Text, Time, Wait
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(positional=("to", "content"))
def message_send(
    replica: Replica,
    to: str,
    content: Text,
    title: str | None = None,
    kind: Literal["message", "handoff", "notification"] = "message",
    conversation_id: str | None = None,
    task_id: Id | None = None,
    context_ids: list[Id] | None = None,
    thread_id: Id | None = None,
    priority: Annotated[int, Range(-1_000_000, 1_000_000)] = 0,
    expires: Time | None = None,
    dedup_key: str | None = None,
) -> dict[str, Any]:
    """Send a message or hand-off to an agent, on this machine or, after a sync, another.

    to: The agent that shall read it
    content: The message
    title: A few words that name it
    kind: What it is
    conversation_id: The conversation it continues
    task_id: The task it is about
    context_ids: Memories that the receiver may read
    thread_id: The message it answers
    priority: The larger comes first
    expires: When to stop showing it
    dedup_key: A second message with this key is not kept
    """
    return messages.send(
        replica,
        to,
        content,
        title=title,
        kind=kind,
        conversation_id=conversation_id,
        task_id=task_id,
        context_ids=context_ids,
        thread_id=thread_id,
        priority=priority,
        expires_at=expires,
        dedup_key=dedup_key,
    )


@tool(writes=False)
def message_inbox(
    replica: Replica,
    kind: Literal["message", "handoff", "notification"] | None = None,
    thread_id: Id | None = None,
    all: bool = False,  # noqa: A002 (the word people look for)
    limit: Count = 50,
    wait: Wait = 0,
) -> dict[str, Any]:
    """Messages to the caller, unread first; then the larger priority, the oldest first.

    kind: Only these
    thread_id: Only of the thread that this message is in
    all: Those that were acknowledged too
    limit: How many at most
    wait: Seconds to wait until one is unread
    """
    return messages.inbox(
        replica,
        kind=kind,
        thread_id=thread_id,
        acked=all,
        limit=limit,
        wait_ms=round(wait * 1000),
    )


@tool(positional=("id",), writes=False)
def message_get(replica: Replica, id: Id) -> dict[str, Any]:  # noqa: A002 (the column's name)
    """Read one message that the caller sent or was sent.

    id: The message
    """
    return messages.get(replica, id)


@tool(positional=("id",), writes=False)
def message_thread(
    replica: Replica,
    id: Id,  # noqa: A002
    limit: Count = 50,
) -> dict[str, Any]:
    """A message with those that it answers and that answer it, the oldest first.

    id: Any message of the thread
    limit: How many at most
    """
    return messages.thread(replica, id, limit=limit)


@tool(positional=("ids",))
def message_ack(replica: Replica, ids: list[Id]) -> dict[str, Any]:
    """Acknowledge messages; doing it twice changes nothing.

    ids: The messages
    """
    return messages.ack(replica, ids)


@tool(writes=False)
def notification_list(
    replica: Replica,
    all: bool = False,  # noqa: A002
    limit: Count = 50,
    wait: Wait = 0,
) -> dict[str, Any]:
    """Notifications to the caller, unread first; then the larger priority, the oldest first.

    all: Those that were acknowledged too
    limit: How many at most
    wait: Seconds to wait until one is unread
    """
    return messages.inbox(
        replica, kind="notification", acked=all, limit=limit, wait_ms=round(wait * 1000)
    )


@tool(positional=("ids",))
def notification_ack(replica: Replica, ids: list[Id]) -> dict[str, Any]:
    """Acknowledge notifications; doing it twice changes nothing.

    ids: The notifications
    """
    return messages.ack(replica, ids)


@tool()
def notification_ack_all(replica: Replica, upto: Id | None = None) -> dict[str, Any]:
    """Acknowledge all notifications to the caller.

    upto: The last one that was seen: what came after it stays unread
    """
    return messages.ack_all(replica, kind="notification", upto=upto)
