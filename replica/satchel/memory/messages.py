"""Messages between agents: send, inbox, acknowledge; for their sender and receiver only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.memory import audit, ownership, text, view
from satchel.memory.limits import IDS_MAX, LIST_ROWS_DEFAULT, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, find_to_change, resolve, resolve_to_travel, select
from satchel.store import rows
from satchel.store.sql import alive
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
    caller, now = replica.caller, replica.now_ms()
    sender = ownership.author(caller, text.optional_name(from_agent, "from_agent"))
    contexts = text.names(context_ids, "context_ids", IDS_MAX)
    receiver, dedup = text.name(to, "to"), text.optional_name(dedup_key, "dedup_key")
    with replica.store.write(replica.actor) as db:
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
            thread_id=None if thread_id is None else resolve(db, caller, "message", thread_id),
            priority=text.whole(priority, "priority", -PRIORITY_MAX, PRIORITY_MAX),
            created_at=now,
            expires_at=text.time_ms(expires_at, "expires_at"),
            dedup_key=dedup,
        )
        twin = _twin(db, sender, receiver, dedup, now) if dedup is not None else None
        if twin is not None:
            return {**view.plain(twin), "outcome": "exists"}
        rows.insert(db, message)
    return {**view.plain(message), "outcome": "created"}


def inbox(
    replica: Replica,
    *,
    agent: str | None = None,
    kind: str | None = None,
    acked: bool = False,
    limit: int = LIST_ROWS_DEFAULT,
) -> dict[str, Any]:
    """Messages to the caller, unread first, the oldest first: `{items, unread}`.

    The operator names the agent whose inbox it reads, or reads all. Raises Refused for another's.
    """
    receiver = ownership.author(replica.caller, text.optional_name(agent, "agent"))
    if receiver is None and not replica.caller.sees_all:
        raise InvalidInput("an inbox needs an agent", hint="give `--agent`", field="agent")
    params = {
        **replica.caller.params,
        "receiver": receiver,
        "kind": text.optional_name(kind, "kind"),
        "acked": 1 if acked else 0,
        "now": replica.now_ms(),
        "limit": text.whole(limit, "limit", 1, LIST_ROWS_MAX),
    }
    where = f"""{can_see(replica.caller, "message")}
        AND (:receiver IS NULL OR t.to_agent = :receiver) AND (:kind IS NULL OR t.kind = :kind)
        AND (t.expires_at IS NULL OR t.expires_at > :now)"""
    with replica.store.read() as db:
        found = select(
            db,
            Message,
            f"{where} AND (:acked OR t.acked_at IS NULL)",
            params,
            "ORDER BY t.acked_at IS NOT NULL, t.created_at, t.id LIMIT :limit",
        )
        sql = f"SELECT count(*) FROM message AS t WHERE {where} AND t.acked_at IS NULL"
        unread = int(db.execute(sql, params).get)
    audit.record(replica, "inbox", [("message", one.id) for one in found])
    return {"items": [view.plain(one) for one in found], "unread": unread}


def ack(replica: Replica, ids: Sequence[str]) -> dict[str, Any]:
    """Mark messages as read, once: `{items: [{id, acked_at}]}`. Raises NotFound, Refused."""
    now = replica.now_ms()
    items = []
    with replica.store.write(replica.actor) as db:
        for given in text.names(ids, "ids", IDS_MAX):
            held = find_to_change(db, replica.caller, Message, given)
            if held.acked_at is None:
                rows.update(db, MESSAGE, held.id, acked_at=now)
            items.append({"id": held.id, "acked_at": held.acked_at or now})
    return {"items": items}


def _twin(
    db: Connection, sender: str | None, receiver: str, dedup: str, now_ms: int
) -> Message | None:
    where = f"""t.to_agent = :receiver AND t.from_agent IS :sender AND t.dedup_key = :dedup
        AND t.acked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > :now) AND {alive("t")}"""
    params = {"receiver": receiver, "sender": sender, "dedup": dedup, "now": now_ms}
    found = select(db, Message, where, params, "LIMIT 1")
    return found[0] if found else None
