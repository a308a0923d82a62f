"""Draining the queue: vectors for memories that were written without; can stop at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satchel.embedding import vectors
from satchel.embedding.contract import Embedder
from satchel.errors import EngineUnavailable
from satchel.memory.limits import DRAIN_MEMORIES
from satchel.memory.lookup import build, columns
from satchel.memory.visibility import alive
from satchel_sync.tables import MEMORY, Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

MISSING = f"""
INSERT INTO embed_queue(memory_id, since_ms)
SELECT t.id, :now FROM memory AS t
WHERE {alive("t")} AND t.content IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM embedding AS e
    WHERE e.memory_id = t.id AND e.model = :model AND e.content_hash = t.content_hash
      AND {alive("e")})
ON CONFLICT DO NOTHING
"""
QUEUED = f"""
SELECT {columns(MEMORY)} FROM embed_queue AS q JOIN memory AS t ON t.id = q.memory_id
WHERE {alive("t")} AND t.content IS NOT NULL
  AND (:only IS NULL OR q.memory_id IN (SELECT value FROM json_each(:only)))
ORDER BY q.since_ms, q.memory_id LIMIT :limit
"""
GONE = f"""
DELETE FROM embed_queue WHERE NOT EXISTS (
    SELECT 1 FROM memory AS t WHERE t.id = embed_queue.memory_id AND {alive("t")}
      AND t.content IS NOT NULL)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a drain did: memories that got vectors, and those still waiting."""

    done: int
    left: int
    model: str


def drain(
    replica: Replica,
    *,
    limit: int | None = None,
    only: Sequence[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Drained:
    """Embed what is queued or lacks vectors of the model in use, oldest first.

    Each batch is one transaction, so that a stop loses at most one batch of work. `progress` is
    called with (done, left); `only` are ids of queued memories. Raises EngineUnavailable when no
    engine is here.
    """
    embedder = replica.embedder
    if embedder is None:
        raise EngineUnavailable(
            f"nothing can be embedded: {replica.embedder_reason}", field="embedding.engine"
        )
    if only is None:
        _sweep(replica, embedder.model_id)
    done = 0
    while limit is None or done < limit:
        room = DRAIN_MEMORIES if limit is None else min(DRAIN_MEMORIES, limit - done)
        batch = _next(replica, room, only)
        if not batch:
            break
        made = [(memory, vectors.make(embedder, memory)) for memory in batch]
        with replica.store.write() as db:
            for memory, embeddings in made:
                _attach_if_same(db, embedder, memory, embeddings)
        done += len(batch)
        if progress:
            progress(done, _waiting(replica))
    return Drained(done=done, left=_waiting(replica), model=embedder.model_id)


def _sweep(replica: Replica, model_id: str) -> None:
    """Queue what has no vectors of this model; drop entries whose memory is gone."""
    with replica.store.write() as db:
        db.execute(MISSING, {"now": replica.now_ms(), "model": model_id})
        db.execute(GONE)


def _next(replica: Replica, limit: int, only: Sequence[str] | None) -> list[Memory]:
    params = {"limit": limit, "only": None if only is None else json.dumps(list(only))}
    with replica.store.read() as db:
        return [build(Memory, found) for found in db.execute(QUEUED, params)]


def _attach_if_same(
    db: Connection, embedder: Embedder, memory: Memory, embeddings: list[Embedding]
) -> None:
    """The text may have changed while the model ran; then the memory stays in the queue."""
    held = db.execute(
        f"SELECT t.title, t.content FROM memory AS t WHERE t.id = ? AND {alive('t')}", (memory.id,)
    ).fetchone()
    if held == (memory.title, memory.content):
        vectors.attach(db, memory.id, embedder.model_id, embeddings)


def _waiting(replica: Replica) -> int:
    with replica.store.read() as db:
        return int(db.execute("SELECT count(*) FROM embed_queue").get)
