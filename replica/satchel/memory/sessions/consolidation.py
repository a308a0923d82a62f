"""The end of a session in the store: one episodic memory, its links, and what may be let go.

All of it is one transaction, so a process that dies leaves the session open or ended, nothing in
between. The memory's id follows from the session's: machines that end it apart make one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from satchel.memory import text
from satchel.memory.edges import DERIVED_FROM, edge
from satchel.memory.limits import SESSION_LINKS_MAX
from satchel.memory.lookup import select
from satchel.memory.search.tokens import Tokenizer
from satchel.memory.sessions.forgotten import has_forgotten, leaking, rewrite
from satchel.memory.sessions.sources import Source, gather, summary_id
from satchel.memory.sessions.summary import Extract, Extractive, Summarizer, extract
from satchel.memory.storing import embed_now, leave_queued, store_new
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.tables import MEMORY, RELATIONSHIP, SESSION, Memory, Session

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica
    from satchel_sync.tables import Embedding

EPISODIC: Final = "episodic"
WORKING: Final = "working"
EXTRACTIVE: Final = Extractive()
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A summary that is ready to be stored, and the sources that it was made of."""

    sources: Sequence[Source]
    memory: Memory | None
    """None where there is nothing to sum up."""
    quoted: Sequence[str] = ()
    """Ids of memories that it quotes."""
    vectors: list[Embedding] | None = None


def draft(replica: Replica, db: Connection, session: Session, at_ms: int) -> Draft:
    """The summary of a session as it stood at `at_ms` (UTC ms), by words alone."""
    sources = gather(db, session, at_ms)
    return _drafted(replica, session, sources, _extract(replica, db, session, sources), at_ms)


def prepare(replica: Replica, session: Session, at_ms: int, summarizer: Summarizer) -> Draft:
    """Like `draft`, by any summarizer and with vectors: what must not keep a lock waiting."""
    with replica.store.read() as db:
        sources = gather(db, session, at_ms)
        told = _extract(replica, db, session, sources)
    made = _drafted(replica, session, sources, told, at_ms, summarizer)
    vectors = embed_now(replica, made.memory) if made.memory else None
    return replace(made, vectors=vectors)


def close(
    db: Connection, replica: Replica, session: Session, at_ms: int, prepared: Draft
) -> Session:
    """Inside the write: close the session at `at_ms`, keep its summary, let working rows expire."""
    if gather(db, session, at_ms) != prepared.sources:  # somebody wrote meanwhile
        prepared = draft(replica, db, session, at_ms)
    kept = _keep(db, replica, prepared)
    keep_ms = replica.settings.session_working_days * DAY_MS
    _let_expire(db, session.id, at_ms + keep_ms)
    closed = replace(session, closed_at=at_ms, summary_memory_id=kept)
    save(db, closed)
    return closed


def is_stale(db: Connection, replica: Replica, session: Session, stored: Session) -> bool:
    """Whether `refresh` of a closed session, of which `stored` is the row, would change anything.

    Rows that another machine wrote before it knew of the end arrive later. A summary that somebody
    has corrected, superseded or deleted, or that a model wrote, stays as it is.
    """
    made = _renewed(replica, db, session).memory
    if made is None or session != stored:
        return session != stored
    if leaking(db, made, _is_ours):
        return True
    held = rows.get(db, MEMORY, made.id)
    if held is None:
        return rows.get(db, MEMORY, made.id, dead=True) is None
    is_old = _is_ours(held) and held.content_hash != made.content_hash
    return is_old or session.summary_memory_id != made.id


def refresh(db: Connection, replica: Replica, session: Session) -> Session:
    """Inside the write: store a closed session as it is given, and bring its summary up to date."""
    made = _renewed(replica, db, session)
    for version in leaking(db, made.memory, _is_ours) if made.memory else ():
        rewrite(db, replica, version)
        leave_queued(db, replica, version.id)
    kept = _keep(db, replica, made) or session.summary_memory_id
    whole = replace(session, summary_memory_id=kept)
    save(db, whole)
    return whole


def _renewed(replica: Replica, db: Connection, session: Session) -> Draft:
    """The summary of a closed session as it is now to be; of its head where all is forgotten."""
    at_ms = session.closed_at or replica.now_ms()
    made = draft(replica, db, session, at_ms)
    held = None if made.memory else rows.get(db, MEMORY, summary_id(session.id))
    if held is None or not has_forgotten(db, held.id, held.metadata):
        return made
    told = _extract(replica, db, session, made.sources)
    return _drafted(replica, session, made.sources, told, at_ms, is_needed=True)


def save(db: Connection, session: Session) -> None:
    """Inside the write: what changes of a session in its life."""
    rows.update(
        db,
        SESSION,
        session.id,
        agent_ids=session.agent_ids,
        closed_at=session.closed_at,
        summary_memory_id=session.summary_memory_id,
    )


def _extract(
    replica: Replica, db: Connection, session: Session, sources: Sequence[Source]
) -> Extract:
    return extract(replica.ranking, Tokenizer(db), session, sources)


def _drafted(
    replica: Replica,
    session: Session,
    sources: Sequence[Source],
    told: Extract,
    at_ms: int,
    summarizer: Summarizer = EXTRACTIVE,
    *,
    is_needed: bool = False,
) -> Draft:
    if not sources and not is_needed:
        return Draft(sources=sources, memory=None)
    content = text.content(summarizer.summarise(told))
    hashed = text.content_hash(content)
    quoted = {
        kind: [one.source.id for one in told.quotes if one.source.kind == kind]
        for kind in told.counts
    }
    memory = Memory(
        id=summary_id(session.id),
        type=EPISODIC,
        title=told.heading,
        content=content,
        content_hash=hashed,
        metadata=text.json_object(
            {
                "session": session.id,
                "sources": told.counts,
                "quoted": quoted,
                "summarizer": summarizer.name,
                "content_hash": hashed,
            }
        ),
        scope=session.scope,
        space=session.space,
        user_id=session.user_id,
        agent_id=session.agent_id,
        session_id=session.id,
        source=f"session {session.id}",
        valid_from=session.opened_at,
        recorded_at=at_ms,
    )
    return Draft(sources=sources, memory=memory, quoted=quoted["memory"])


def _keep(db: Connection, replica: Replica, made: Draft) -> str | None:
    """Store the summary and its links. Its id, or None where there is none (any more).

    What somebody made of a summary stays.
    """
    new = made.memory
    if new is None:
        return None
    held = rows.get(db, MEMORY, new.id, dead=True)
    if held is None:
        store_new(db, replica, new, made.vectors)
    elif rows.get(db, MEMORY, new.id) is None:
        return None  # somebody deleted it, or had it forgotten: that stands
    elif held.content_hash != new.content_hash and _is_ours(held):
        if has_forgotten(db, held.id, held.metadata):
            rewrite(db, replica, new)
        else:
            rows.update(
                db,
                MEMORY,
                new.id,
                title=new.title,
                content=new.content,
                content_hash=new.content_hash,
                metadata=new.metadata,
            )
        leave_queued(db, replica, new.id)
    _link(db, new, made)
    return new.id


def _link(db: Connection, summary: Memory, made: Draft) -> None:
    others = (source.id for source in made.sources if source.kind == "memory")
    for key in list(dict.fromkeys([*made.quoted, *others]))[:SESSION_LINKS_MAX]:
        one = edge(summary.id, key, DERIVED_FROM, agent_id=summary.agent_id)
        if rows.get(db, RELATIONSHIP, one.id, dead=True) is None:
            rows.insert(db, one)


def _is_ours(held: Memory) -> bool:
    """Whether a summary still is what was extracted, and current."""
    told: dict[str, Any] = text.stored_object(held.metadata)
    return (
        told.get("summarizer") == EXTRACTIVE.name
        and told.get("content_hash") == held.content_hash
        and held.retired_at is None
    )


def _let_expire(db: Connection, session_id: str, at_ms: int) -> None:
    """Working memories of the session, whoever wrote them, are shown no longer than this."""
    where = f"""t.session_id = :session AND t.type = :type AND t.pinned IS NULL
        AND (t.expires_at IS NULL OR t.expires_at > :at) AND {alive("t")}"""
    params = {"session": session_id, "type": WORKING, "at": at_ms}
    for one in select(db, Memory, where, params, "ORDER BY t.id"):
        rows.update(db, MEMORY, one.id, expires_at=at_ms)
