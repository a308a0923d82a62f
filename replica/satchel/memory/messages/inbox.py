"""Reading messages: an agent's inbox, unread first, waited for if asked; one message; a thread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.memory import audit, ownership, text, view
from satchel.memory.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX, WAIT_MS_MAX
from satchel.memory.lookup import can_see, find, resolve, select
from satchel.memory.messages.twins import Keyed, hidden
from satchel.memory.messages.waiting import until
from satchel.store.sql import alive
from satchel_sync.tables import Message

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.replica import Replica

_ORDER = "t.acked_at IS NOT NULL, -coalesce(t.priority, 0), coalesce(t.created_at, 0), t.id"
"""Unread first, then the larger priority, then first in, first out."""
_SHOWN = "(t.expires_at IS NULL OR t.expires_at > :now)"


def inbox(
    replica: Replica,
    *,
    agent: str | None = None,
    kind: str | None = None,
    thread_id: str | None = None,
    acked: bool = False,
    limit: int = LIST_ROWS_DEFAULT,
    wait_ms: int = 0,
) -> dict[str, Any]:
    """Messages to the caller, unread first, the oldest first: `{items, unread}`.

    With `wait_ms` it is waited until one is unread, so long at most: `timed_out` tells that none
    came. Reading acknowledges nothing. The operator names the agent whose inbox it reads, or reads
    all. Raises Refused for another's.
    """
    caller = replica.caller
    receiver = ownership.author(caller, text.optional_name(agent, "agent"))
    if receiver is None and not caller.sees_all:
        raise InvalidInput("an inbox needs an agent", hint="give `--agent`", field="agent")
    wait_ms = text.whole(wait_ms, "wait", 0, WAIT_MS_MAX)
    params: dict[str, Any] = {
        **caller.params,
        "receiver": receiver,
        "kind": text.optional_name(kind, "kind"),
        "acked": 1 if acked else 0,
        "limit": text.whole(limit, "limit", 1, LIST_ROWS_MAX),
    }

    def look() -> dict[str, Any] | None:
        found = _inbox(replica, params, thread_id)
        return found if found["unread"] or not wait_ms else None

    found = until(replica, look, wait_ms)
    if found is None:
        found = {**_inbox(replica, params, thread_id), "timed_out": True}
    audit.record(replica, "inbox", [("message", one["id"]) for one in found["items"]])
    return found


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002 - the column's name
    """One message, for its sender or receiver. Raises NotFound."""
    with replica.store.read() as db:
        found = find(db, replica.caller, Message, id)
    audit.record(replica, "get", [("message", found.id)])
    return view.plain(found)


def thread(replica: Replica, id: str, *, limit: int = LIST_ROWS_DEFAULT) -> dict[str, Any]:  # noqa: A002
    """The messages of a thread that the caller sent or was sent, the oldest first: `{items}`.

    `id` is any message of it. Raises NotFound.
    """
    caller, now = replica.caller, replica.now_ms()
    with replica.store.read() as db:
        key = resolve(db, caller, "message", id)
        params: dict[str, Any] = {
            **caller.params,
            "now": now,
            "ids": _of_thread(db, caller, key),
            "limit": text.whole(limit, "limit", 1, LIST_ROWS_MAX),
        }
        where = f"""t.id IN (SELECT value FROM json_each(:ids)) AND {_SHOWN}
            AND {can_see(caller, "message")}"""
        params["hidden"] = _hidden(db, now, where, params)
        found = select(
            db,
            Message,
            f"{where} AND t.id NOT IN (SELECT value FROM json_each(:hidden))",
            params,
            "ORDER BY coalesce(t.created_at, 0), t.id LIMIT :limit",
        )
    audit.record(replica, "thread", [("message", one.id) for one in found])
    return {"items": [view.plain(one) for one in found]}


def keyed(db: Connection, where: str, params: dict[str, Any]) -> list[Keyed]:
    """Living messages `t` with a dedup key, those for which `where` holds.

    What was written by hand as no time counts as none; a key of bytes is as good as one of text.
    """
    created, acked, expires = (
        f"iif(typeof(t.{name}) IN ('integer', 'real'), t.{name}, NULL)"
        for name in ("created_at", "acked_at", "expires_at")
    )
    found = db.execute(
        f"""SELECT hex(t.to_agent) || ' ' || hex(t.from_agent) || ' ' || hex(t.dedup_key),
                   coalesce({created}, 0), t.id, {acked}, {expires}
            FROM message AS t WHERE t.dedup_key IS NOT NULL AND t.id NOT GLOB '*[^0-9a-z-]*'
            AND {alive("t")} AND {where}""",
        params,
    )
    return [Keyed(*one) for one in found]


def _inbox(replica: Replica, params: dict[str, Any], thread_id: str | None) -> dict[str, Any]:
    caller, now = replica.caller, replica.now_ms()
    params = {**params, "now": now, "thread": None}
    # Said outright, not as `:receiver IS NULL OR …`: no index serves an OR.
    mine = "1" if params["receiver"] is None else "t.to_agent = :receiver"
    where = f"""{can_see(caller, "message")} AND {mine} AND {_SHOWN}
        AND (:kind IS NULL OR t.kind = :kind)
        AND (:thread IS NULL OR t.id IN (SELECT value FROM json_each(:thread)))
        AND t.id NOT IN (SELECT value FROM json_each(:hidden))"""
    unread = f"{where} AND t.acked_at IS NULL"
    with replica.store.read() as db:
        if thread_id is not None:
            key = resolve(db, caller, "message", thread_id)
            params["thread"] = _of_thread(db, caller, key)
        params["hidden"] = _hidden(db, now, mine if params["acked"] else _keys_of(mine), params)
        wanted = where if params["acked"] else unread
        found = select(db, Message, wanted, params, f"ORDER BY {_ORDER} LIMIT :limit")
        count = int(db.execute(f"SELECT count(*) FROM message AS t WHERE {unread}", params).get)
    return {"items": [view.plain(one) for one in found], "unread": count}


def _keys_of(where: str) -> str:
    """SQL: `t` shares receiver and dedup key with an unread message for which `where` holds.

    The plus keeps SQLite from reading all that have a key: unread ones are few, by their index.
    """
    return f"""(t.to_agent, t.dedup_key) IN (SELECT t.to_agent, t.dedup_key FROM message AS t
        WHERE {where} AND t.acked_at IS NULL AND +t.dedup_key IS NOT NULL)"""


def _hidden(db: Connection, now_ms: int, where: str, params: dict[str, Any]) -> str:
    """A JSON list of the messages that repeat another one, of those for which `where` holds."""
    twice = f"""({where}) AND EXISTS (SELECT 1 FROM message AS o WHERE o.dedup_key = t.dedup_key
        AND o.to_agent = t.to_agent AND o.from_agent IS t.from_agent AND o.id <> t.id)"""
    return json.dumps(sorted(hidden(keyed(db, twice, params), now_ms)))


def _of_thread(db: Connection, caller: Caller, key: str) -> str:
    """A JSON list of the ids of a thread: up to its first message, and all that answer down.

    A message names the one that it answers; one that has not arrived yet, or that the caller does
    not see, holds its answers together all the same, and leads no further.
    """
    seen = can_see(caller, "message", "m")
    found = db.execute(
        f"""WITH RECURSIVE up(id) AS (
             SELECT :key
             UNION SELECT m.thread_id FROM up JOIN message AS m ON m.id = up.id
             WHERE m.thread_id IS NOT NULL AND {seen}),
           whole(id) AS (
             SELECT id FROM up
             UNION SELECT m.id FROM whole JOIN message AS m ON m.thread_id = whole.id
             WHERE {seen})
           SELECT id FROM whole""",
        {**caller.params, "key": key},
    )
    return json.dumps([str(one) for (one,) in found])
