"""Chat logs: turns of conversations, written once, searched and shown turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satchel.memory import audit, ownership, paging, text, turn_ids, view
from satchel.memory.guard import guarded
from satchel.memory.limits import LIST_ROWS_DEFAULT, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, not_found, select
from satchel.memory.search.search import SearchAnswer
from satchel.memory.search.search import search as search_all
from satchel.memory.turn_ids import Place
from satchel.memory.visibility import Caller
from satchel.store import rows
from satchel_sync.tables import CHATLOG, Chatlog

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.chunks import Made
    from satchel.embedding.turn_vectors import Turn
    from satchel.replica import Replica

COUNT_MAX = 2**53
TURNS_SHOWN_MAX = 10_000


def write(
    replica: Replica,
    conversation_id: str,
    content: str,
    *,
    role: str = "user",
    ordinal: int | None = None,
    said_at: int | None = None,
    scope: str | None = None,
    space: str | None = None,
    host_agent: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    cost: float | None = None,
    metadata: Mapping[str, Any] | str | None = None,
    agent: str | None = None,
) -> dict[str, Any]:
    """Keep one turn: `{id, conversation_id, ordinal, outcome, redactions}`.

    The id follows from conversation, ordinal, role, text and whom the turn is for, so that a turn
    is kept once however often it is captured, and says nothing about turns of others. Secrets are
    replaced before anything is written (or the turn is refused, by `chatlog.secrets`). Without
    `ordinal` it is the next one that the caller sees. Raises InvalidInput, NotFound (a closed
    space), Refused.
    """
    caller, now = replica.caller, replica.now_ms()
    conversation, role = text.name(conversation_id, "conversation_id"), text.name(role, "role")
    told = {"content": text.content(content), "metadata": text.json_object(metadata)}
    said = guarded(replica.settings.chatlog_secrets, "chatlog.secrets", told)
    clean = said.columns["content"]
    given = text.optional_whole(ordinal, "ordinal", 0, COUNT_MAX)
    with replica.store.read() as db:
        owner = ownership.of_turn(db, caller, conversation, scope, space, agent)
    conversation = owner.session_id or conversation
    said_at = text.time_ms(said_at, "said_at")
    columns: dict[str, Any] = {
        "host_agent": text.optional_name(host_agent, "host_agent"),
        "provider": text.optional_name(provider, "provider"),
        "model": text.optional_name(model, "model"),
        "tokens_in": text.optional_whole(tokens_in, "tokens_in", 0, COUNT_MAX),
        "tokens_out": text.optional_whole(tokens_out, "tokens_out", 0, COUNT_MAX),
        "cost": text.number(cost, "cost"),
        "metadata": said.columns["metadata"],
        "said_at": now if said_at is None else said_at,
        "redactions": said.redactions,
    }
    place = {"conversation_id": conversation, "ordinal": given, "said_at": columns["said_at"]}
    owned = {name: getattr(owner, name) for name in ("scope", "agent_id", "user_id", "space")}
    made = _embed_now(replica, role, clean, place | owned)
    with replica.store.write(replica.actor) as db:
        ownership.settle(db, caller, owner)
        if given is None:
            given = _next_ordinal(db, caller, conversation)
        said_there = Place(conversation, given, role, clean)
        turn = Chatlog(
            id=turn_ids.seen(db, caller, said_there) or turn_ids.new(owner, said_there),
            conversation_id=conversation,
            ordinal=given,
            role=role,
            content=clean,
            scope=owner.scope,
            space=owner.space,
            agent_id=owner.agent_id,
            user_id=owner.user_id,
            **columns,
        )
        new = rows.get(db, CHATLOG, turn.id) is None
        if new:
            rows.insert(db, turn)
            _attach(db, replica, turn.id, made)
    return {
        "id": turn.id,
        "conversation_id": conversation,
        "ordinal": given,
        "outcome": "created" if new else "exists",
        "redactions": said.redactions,
    }


def _embed_now(
    replica: Replica, role: str, content: str, place: Mapping[str, Any]
) -> tuple[Turn, list[Made]] | None:
    """Vectors, when the model is warm: before the transaction, so that no lock waits for it."""
    makers = replica.makers(quick=True) if replica.embedding_state == "warm" else ()
    if not makers:
        return None
    from satchel.embedding import chunks, turn_vectors

    with replica.store.read() as db:
        turn = turn_vectors.expected(db, turn_vectors.Turn(0, content, role, None, None), place)
    made = []
    for maker in makers:
        pieces = turn_vectors.pieces(maker, turn)
        vectors = maker.embed_documents([piece.text for piece in pieces])
        made.append(chunks.Made(maker, list(zip(pieces, vectors, strict=True))))
    return turn, made


def _attach(
    db: Connection,
    replica: Replica,
    key: str,
    made: tuple[Turn, list[Made]] | None,
) -> None:
    """Inside the write: the vectors, where the turn stands as expected; else it stays queued."""
    if made is None:
        return
    from satchel.embedding import standing, turn_vectors

    row = db.execute("SELECT row FROM chatlog WHERE id = ?", (key,)).get
    turn = turn_vectors.read(db, row)
    if turn is not None and turn[1:] == made[0][1:]:
        wanted = standing.settled(db, replica, [one.embedder.model_id for one in made[1]])
        kept = [one for one in made[1] if one.embedder.model_id in wanted.kept]
        turn_vectors.attach(db, turn, kept)
        if wanted.more:
            turn_vectors.enqueue(db, turn)


def _next_ordinal(db: Connection, caller: Caller, conversation: str) -> int:
    """Behind the turns that the caller sees: hidden ones are not to be counted from outside."""
    sql = f"""SELECT coalesce(max(t.ordinal) + 1, 0) FROM chatlog AS t
              WHERE t.conversation_id = :conversation AND {can_see(caller, "chatlog")}"""
    return int(db.execute(sql, {**caller.params, "conversation": conversation}).get)


def search(
    replica: Replica,
    query: str,
    *,
    k: int = 10,
    conversation_id: str | None = None,
    since: int | None = None,
    until: int | None = None,
    max_tokens: int | None = None,
    explain: bool = False,
) -> SearchAnswer:
    """Turns that have to do with the question, each with a neighbour turn on either side.

    `since` <= said at < `until`, in UTC milliseconds. Raises InvalidInput.
    """
    return search_all(
        replica,
        query,
        k=k,
        kind="chatlog",
        conversation_id=conversation_id,
        since=since,
        until=until,
        max_tokens=max_tokens,
        explain=explain,
    )


def list_conversations(
    replica: Replica, *, limit: int = LIST_ROWS_DEFAULT, after: str | None = None
) -> dict[str, Any]:
    """Conversations that this caller sees turns of, the newest first: `{items, next}`."""
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    last, key = paging.unpack(after, int, str) if after is not None else (2**63 - 1, "")
    sql = f"""
        SELECT t.conversation_id, count(*), min(t.said_at), coalesce(max(t.said_at), 0) AS last,
               min(t.host_agent)
        FROM chatlog AS t WHERE {can_see(replica.caller, "chatlog")}
        GROUP BY t.conversation_id
        HAVING last < :last OR (last = :last AND t.conversation_id > :key)
        ORDER BY last DESC, t.conversation_id LIMIT :limit"""
    params = {**replica.caller.params, "last": last, "key": key, "limit": limit + 1}
    with replica.store.read() as db:
        found: list[Any] = db.execute(sql, params).fetchall()
    items = [
        {
            "conversation_id": conversation,
            "turns": turns,
            "opened_at": first,
            "said_at": last_said,
            "host_agent": host,
        }
        for conversation, turns, first, last_said, host in found[:limit]
    ]
    more = len(found) > limit
    page_end = paging.pack(items[-1]["said_at"], items[-1]["conversation_id"]) if more else None
    return {"items": items, "next": page_end}


def show(replica: Replica, conversation_id: str) -> dict[str, Any]:
    """The turns of a conversation in order: `{conversation_id, items}`. Raises NotFound."""
    conversation = text.name(conversation_id, "conversation_id")
    where = f"t.conversation_id = :conversation AND {can_see(replica.caller, 'chatlog')}"
    params = {**replica.caller.params, "conversation": conversation}
    tail = f"ORDER BY t.ordinal, t.id LIMIT {TURNS_SHOWN_MAX}"
    with replica.store.read() as db:
        found = select(db, Chatlog, where, params, tail)
    if not found:
        raise not_found("conversation", conversation)
    audit.record(replica, "show", [("chatlog", one.id) for one in found])
    return {"conversation_id": conversation, "items": [view.plain(one) for one in found]}
