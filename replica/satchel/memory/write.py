"""Writing a memory: check it, embed it where the model is warm, store it in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from satchel.embedding import vectors
from satchel.memory import ownership, text
from satchel.memory.guard import guarded
from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, select
from satchel.memory.ownership import Owner
from satchel.store import rows
from satchel_sync.tables import Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

TYPE_DEFAULT = "note"
Outcome = Literal["created", "exists", "merged", "superseded"]
EmbeddingOutcome = Literal["done", "queued", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a write; `id` is the memory that now holds the text."""

    id: str
    outcome: Outcome
    superseded: list[str]
    similar: list[dict[str, Any]]
    embedding: EmbeddingOutcome
    warnings: list[str]


def write(
    replica: Replica,
    content: str,
    *,
    title: str | None = None,
    type: str | None = None,  # noqa: A002 - the column's name
    scope: str | None = None,
    space: str | None = None,
    session: str | None = None,
    importance: float | None = None,
    confidence: float | None = None,
    pinned: bool = False,
    valid_from: int | None = None,
    expires_at: int | None = None,
    source: str | None = None,
    metadata: Mapping[str, Any] | str | None = None,
    aliases: list[str] | None = None,
    local: bool = False,
    agent: str | None = None,
) -> Written:
    """Keep a text. The same normalised text of the same owner, still current, is not kept twice.

    Times are UTC milliseconds. Raises InvalidInput, NotFound (a session or closed space), Refused.
    """
    caller = replica.caller
    owner = ownership.decide(caller, scope=scope, space=space, session=session, agent=agent)
    now = replica.now_ms()
    valid_from = text.time_ms(valid_from, "valid_from")
    said = guarded(
        replica.settings.memory_secrets,
        "memory.secrets",
        {
            "content": text.content(content),
            "title": text.optional_text(title, "title"),
            "source": text.optional_text(source, "source"),
            "metadata": text.json_object(metadata),
            "aliases": text.json_list(text.names(aliases, "aliases")),
        },
    )
    draft = Memory(
        id=rows.new_id(now),
        type=text.name(TYPE_DEFAULT if type is None else type, "type"),
        scope=owner.scope,
        agent_id=owner.agent_id,
        user_id=owner.user_id,
        session_id=owner.session_id,
        space=owner.space,
        local=text.flag(local, "local"),
        importance=text.share(importance, "importance"),
        confidence=text.share(confidence, "confidence"),
        pinned=text.flag(pinned, "pin"),
        valid_from=now if valid_from is None else valid_from,
        recorded_at=now,
        expires_at=text.time_ms(expires_at, "expires_at"),
        content_hash=text.content_hash(said.columns["content"]),
        **said.columns,
    )
    made = embed_now(replica, draft)
    with replica.store.write(replica.actor) as db:
        settled = ownership.settle(db, caller, owner, local=draft.local is not None)
        draft = replace(draft, session_id=settled.session_id)
        twin = _twin(db, replica, draft, settled, now)
        if twin is not None:
            return _exists(db, replica, twin, draft)
        embedding = store_new(db, replica, draft, made)
    return Written(
        id=draft.id,
        outcome="created",
        superseded=[],
        similar=[],
        embedding=embedding,
        warnings=said.warnings + _warnings(draft, now),
    )


def embed_now(replica: Replica, draft: Memory) -> list[Embedding] | None:
    """Vectors, when the model is warm: before the transaction, so that no lock waits for it."""
    if replica.embedding_state != "warm" or replica.embedder is None:
        return None
    return vectors.make(replica.embedder, draft)


def store_new(
    db: Connection, replica: Replica, memory: Memory, made: list[Embedding] | None
) -> EmbeddingOutcome:
    """Inside the write: the row with its vectors, or with its place in the queue."""
    rows.insert(db, memory)
    if made is not None and replica.embedder is not None:
        vectors.attach(db, memory.id, replica.embedder.model_id, made)
        return "done"
    return leave_queued(db, replica, memory.id)


def leave_queued(db: Connection, replica: Replica, memory_id: str) -> EmbeddingOutcome:
    """Inside the write: queue the vector, for whichever process can make it."""
    if replica.embedding_state == "off":
        return "off"
    vectors.enqueue(db, memory_id, replica.now_ms())
    return "queued"


def _twin(
    db: Connection, replica: Replica, draft: Memory, owner: Owner, now_ms: int
) -> Memory | None:
    """The oldest current memory with this text and this owner."""
    where = f"""t.content_hash = :hash AND t.scope IS :scope AND t.agent_id IS :agent_id
        AND t.user_id IS :user_id AND t.session_id IS :session_id AND t.space IS :space
        AND t.local IS :local AND {can_see(replica.caller, "memory")} AND {answers("t")}"""
    params = {
        **replica.caller.params,
        **Moment(now=now_ms).params,
        "hash": draft.content_hash,
        "scope": owner.scope,
        "agent_id": owner.agent_id,
        "user_id": owner.user_id,
        "session_id": owner.session_id,
        "space": owner.space,
        "local": draft.local,
    }
    found = select(db, Memory, where, params, "ORDER BY t.id LIMIT 1")
    return found[0] if found else None


def _exists(db: Connection, replica: Replica, twin: Memory, draft: Memory) -> Written:
    """Nothing was stored; what was given and differs is named, or it were lost quietly."""
    given = ("title", "type", "metadata", "importance", "confidence", "source", "expires_at")
    differ = [
        name
        for name in given
        if getattr(draft, name) not in (None, getattr(twin, name))
        and not (name == "type" and draft.type == TYPE_DEFAULT)
    ]
    return Written(
        id=twin.id,
        outcome="exists",
        superseded=[],
        similar=[],
        embedding=_embedding_of(db, replica, twin.id),
        warnings=[f"it keeps its {one}: `memory update {twin.id}` changes it" for one in differ],
    )


def _embedding_of(db: Connection, replica: Replica, memory_id: str) -> EmbeddingOutcome:
    """How it stands with the vector of a memory that was there already."""
    waits = db.execute("SELECT 1 FROM embed_queue WHERE memory_id = ?", (memory_id,)).get
    if waits is None:
        return "off" if replica.embedding_state == "off" else "done"
    return "off" if replica.embedding_state == "off" else "queued"


def _warnings(draft: Memory, now_ms: int) -> list[str]:
    """What a writer may not have meant."""
    found = []
    if draft.expires_at is not None and draft.expires_at <= now_ms:
        found.append("it has already expired: no search will show it")
    if draft.valid_from is not None and draft.valid_from > now_ms:
        found.append("it becomes valid in the future: until then no search will show it")
    return found
