"""Messages between agents: send and acknowledge; `inbox` reads. For sender and receiver only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.memory import ownership, text, view
from satchel.memory.limits import IDS_MAX
from satchel.memory.lookup import can_see, find, find_to_change, resolve, resolve_to_travel, select
from satchel.memory.messages.inbox import get as get
from satchel.memory.messages.inbox import inbox as inbox
from satchel.memory.messages.inbox import keyed
from satchel.memory.messages.inbox import thread as thread
from satchel.memory.messages.twins import open_run
from satchel.store import rows
from satchel.store.message_order import next_at
from satchel_sync.tables import MESSAGE, Message

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

PRIORITY_MAX = 2**31


def send(
    replica: Replica,
    to: str,
    content: str,
    *,
    title: str | None = None,
    kind: str = "message",
    conversation_id: str | None = None,
    task_id: str | None = None,
    context_ids: Sequence[str] | None = None,
    thread_id: str | None = None,
    priority: int = 0,
    expires_at: int | None = None,
    dedup_key: str | None = None,
    from_agent: str | None = None,
) -> dict[str, Any]:
    """Leave a message for an agent: the message with `outcome` created or exists.

    The receiver may read the sender's own memories named in `context_ids`. A second message to the
    same agent with the same `dedup_key` is not kept while the first is unread. Raises NotFound for
    a task, message or memory that the sender does not see, InvalidInput for a local memory.
    """
    caller = replica.caller
    sender = ownership.author(caller, text.optional_name(from_agent, "from_agent"))
    contexts = text.names(context_ids, "context_ids", IDS_MAX)
    receiver, dedup = text.name(to, "to"), text.optional_name(dedup_key, "dedup_key")
    with replica.store.write(replica.actor) as db:
        answered = None if thread_id is None else resolve(db, caller, "message", thread_id)
        now = replica.now_ms()
        at = next_at(db, sender, receiver, now, answered)
        message = Message(
            id=rows.new_id(now),
            to_agent=receiver,
            from_agent=sender,
            kind=text.name(kind, "kind"),
            title=text.optional_text(title, "title"),
            content=text.content(content, "content"),
            conversation_id=text.optional_name(conversation_id, "conversation_id"),
            task_id=None if task_id is None else resolve(db, caller, "task", task_id),
            context_ids=text.json_list(
                [resolve_to_travel(db, caller, key, "context_ids") for key in contexts]
            ),
            thread_id=answered,
            priority=text.whole(priority, "priority", -PRIORITY_MAX, PRIORITY_MAX),
            created_at=at,
            expires_at=text.time_ms(expires_at, "expires_at"),
            dedup_key=dedup,
        )
        twin = None if dedup is None else open_run(_group(db, message), at)
        if twin is not None:
            return {**view.plain(rows.get(db, MESSAGE, twin)), "outcome": "exists"}
        rows.insert(db, message)
    return {**view.plain(message), "outcome": "created"}


def ack(replica: Replica, ids: Sequence[str]) -> dict[str, Any]:
    """Mark messages as read, once: `{items: [{id, acked_at}]}`. Raises NotFound, Refused."""
    now = replica.now_ms()
    items = []
    with replica.store.write(replica.actor) as db:
        for given in text.names(ids, "ids", IDS_MAX):
            held = find_to_change(db, replica.caller, Message, given)
            at = _read_at(held, now)
            rows.update(db, MESSAGE, held.id, acked_at=at)
            items.append({"id": held.id, "acked_at": at})
    return {"items": items}


def ack_all(
    replica: Replica,
    *,
    kind: str | None = None,
    upto: str | None = None,
    agent: str | None = None,
) -> dict[str, Any]:
    """Mark the caller's unread messages (of a kind) as read: `{acked}`, how many.

    `upto`: the last message that was seen; what came after it stays unread. Raises InvalidInput
    where no agent is known, NotFound, Refused.
    """
    caller = replica.caller
    receiver = ownership.author(caller, text.optional_name(agent, "agent"))
    if receiver is None:
        raise InvalidInput("an inbox needs an agent", hint="give `--agent`", field="agent")
    params: dict[str, Any] = {
        **caller.params,
        "receiver": receiver,
        "kind": text.optional_name(kind, "kind"),
        "last_at": None,
        "last_id": None,
    }
    where = f"""{can_see(caller, "message", access="write")} AND t.acked_at IS NULL
        AND t.to_agent = :receiver AND (:kind IS NULL OR t.kind = :kind)
        AND (:last_id IS NULL
             OR (coalesce(t.created_at, 0), t.id) <= (coalesce(:last_at, 0), :last_id))"""
    now = replica.now_ms()
    with replica.store.write(replica.actor) as db:
        if upto is not None:
            last = find(db, caller, Message, upto)
            params |= {"last_at": last.created_at, "last_id": last.id}
        unread = select(db, Message, where, params)
        for one in unread:
            rows.update(db, MESSAGE, one.id, acked_at=_read_at(one, now))
    return {"acked": len(unread)}


def _read_at(message: Message, now_ms: int) -> int:
    """When it was read: once it is, that stays; never before it was sent (another clock may be)."""
    return message.acked_at or max(now_ms, message.created_at or 0)


def _group(db: Connection, message: Message) -> Any:
    where = "t.to_agent = :receiver AND t.from_agent IS :sender AND t.dedup_key = :dedup"
    params = {
        "receiver": message.to_agent,
        "sender": message.from_agent,
        "dedup": message.dedup_key,
    }
    return keyed(db, where, params)
