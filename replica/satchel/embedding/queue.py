"""Draining the queues: vectors for memories and turns that have none; can stop at any time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from satchel.embedding import turn_vectors
from satchel.embedding import vectors as memory_vectors
from satchel.embedding.chunks import Piece
from satchel.embedding.turn_vectors import Turn
from satchel.errors import EngineUnavailable
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder
    from satchel.replica import Replica

DRAIN_TEXTS = 32
"""Memories or turns that one transaction of the queue takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a drain did: texts that got vectors, and those still waiting."""

    done: int
    left: int
    model: str


Made = tuple[Piece, bytes]
"""A piece of text with its vector."""


class Queue(Protocol):
    """Texts of one kind that want a vector."""

    def sweep(self, db: Connection, model_id: str, now_ms: int) -> None:
        """Queue what has no vectors of this model; drop entries whose text is gone."""
        ...

    def waiting(self, db: Connection) -> int:
        """How many there are."""
        ...

    def next(self, db: Connection, limit: int) -> list[Any]:
        """The first of them."""
        ...

    def pieces(self, embedder: Embedder, item: Any) -> list[Piece]:
        """What to embed of one."""
        ...

    def attach(self, db: Connection, embedder: Embedder, item: Any, made: Sequence[Made]) -> bool:
        """Store the vectors, unless the text changed while the model ran: then it stays queued."""
        ...


def drain(
    replica: Replica,
    *,
    limit: int | None = None,
    only: Sequence[str] | None = None,
    limit_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Drained:
    """Embed what is queued or lacks vectors of the model in use: memories, then turns.

    Each batch is one transaction, so that a stop loses at most one batch of work. No batch begins
    after `limit_s` seconds. `progress` is called with (done, left); `only` are ids of queued
    memories. Raises EngineUnavailable when no engine is here.
    """
    embedder = replica.embedder
    if embedder is None:
        raise EngineUnavailable(
            f"nothing can be embedded: {replica.embedder_reason}", field="embedding.engine"
        )
    queues: list[Queue] = [Memories(only)] if only is not None else [Memories(), Turns()]
    if only is None:
        with replica.store.write() as db:
            for queue in queues:
                queue.sweep(db, embedder.model_id, replica.now_ms())
    done = 0
    end_s = math.inf if limit_s is None else time.monotonic() + limit_s
    for queue in queues:
        while time.monotonic() < end_s and (room := _room(limit, done)):
            batch = drain_batch(replica, embedder, queue, room)
            if not batch:
                break
            done += batch
            if progress:
                progress(done, waiting(replica, queues))
    return Drained(done=done, left=waiting(replica, queues), model=embedder.model_id)


def _room(limit: int | None, done: int) -> int:
    return DRAIN_TEXTS if limit is None else min(DRAIN_TEXTS, limit - done)


def waiting(replica: Replica, queues: Sequence[Queue] | None = None) -> int:
    """Texts that want a vector."""
    with replica.store.read() as db:
        return sum(queue.waiting(db) for queue in queues or (Memories(), Turns()))


def drain_batch(replica: Replica, embedder: Embedder, queue: Queue, room: int) -> int:
    """Embed and store the next few; how many got their vectors."""
    with replica.store.read() as db:
        batch = queue.next(db, room)
    if not batch:
        return 0
    pieces = [queue.pieces(embedder, item) for item in batch]
    vectors = embedder.embed_documents([piece.text for some in pieces for piece in some])
    rest = iter(vectors)
    with replica.store.write() as db:
        return sum(
            queue.attach(db, embedder, item, [(piece, next(rest)) for piece in some])
            for item, some in zip(batch, pieces, strict=True)
        )


class Memories:
    """The queue of memories; of these alone, where `only` are their ids."""

    def __init__(self, only: Sequence[str] | None = None) -> None:
        """All of them, unless told otherwise."""
        self._only = None if only is None else json.dumps(list(only))

    def sweep(self, db: Connection, model_id: str, now_ms: int) -> None:
        """See `Queue`."""
        db.execute(
            f"""INSERT INTO embed_queue(memory_id, since_ms)
                SELECT t.id, :now FROM memory AS t
                WHERE {alive("t")} AND t.text_hash <> '' AND NOT EXISTS (
                    SELECT 1 FROM embedding AS e WHERE e.memory_id = t.id AND e.model = :model
                      AND e.content_hash = t.text_hash AND {alive("e")})
                ON CONFLICT DO NOTHING""",
            {"now": now_ms, "model": model_id},
        )
        db.execute(
            f"""DELETE FROM embed_queue WHERE NOT EXISTS (
                    SELECT 1 FROM memory AS t WHERE t.id = embed_queue.memory_id AND {alive("t")}
                      AND t.text_hash <> '')"""
        )

    def waiting(self, db: Connection) -> int:
        """See `Queue`."""
        return int(db.execute("SELECT count(*) FROM embed_queue").get)

    def next(self, db: Connection, limit: int) -> list[Memory]:
        """The oldest."""
        found = db.execute(
            f"""SELECT t.id FROM embed_queue AS q JOIN memory AS t ON t.id = q.memory_id
                WHERE {alive("t")} AND t.text_hash <> ''
                  AND (:only IS NULL OR q.memory_id IN (SELECT value FROM json_each(:only)))
                ORDER BY q.since_ms, q.memory_id LIMIT :limit""",
            {"limit": limit, "only": self._only},
        )
        keys = [str(key) for (key,) in found.fetchall()]
        return [rows.get(db, MEMORY, key) for key in keys]

    def pieces(self, embedder: Embedder, item: Memory) -> list[Piece]:
        """See `Queue`."""
        return memory_vectors.pieces(embedder, item)

    def attach(
        self, db: Connection, embedder: Embedder, item: Memory, made: Sequence[Made]
    ) -> bool:
        """See `Queue`."""
        held: Memory | None = rows.get(db, MEMORY, item.id)
        if held is None or _text(held) != _text(item):
            return False
        vectors = memory_vectors.rows_of(embedder, item, [vector for _, vector in made])
        memory_vectors.attach(db, item.id, embedder.model_id, vectors)
        return True


def _text(memory: Memory) -> tuple[str | None, ...]:
    return (memory.title, memory.content, memory.aliases)


class Turns:
    """The queue of chat turns."""

    def sweep(self, db: Connection, model_id: str, now_ms: int) -> None:
        """See `Queue`; what leaves the queue by being deleted is settled by triggers."""
        db.execute(
            f"""INSERT INTO turn_queue(turn)
                SELECT t.row FROM chatlog AS t
                WHERE {alive("t")} AND typeof(t.content) = 'text' AND NOT EXISTS (
                    SELECT 1 FROM turn_vector AS v WHERE v.turn = t.row AND v.model = ?)
                ON CONFLICT DO NOTHING""",
            (model_id,),
        )
        db.execute(
            f"""DELETE FROM turn_queue WHERE NOT EXISTS (
                    SELECT 1 FROM chatlog AS t WHERE t.row = turn_queue.turn AND {alive("t")}
                      AND typeof(t.content) = 'text')"""
        )

    def waiting(self, db: Connection) -> int:
        """See `Queue`."""
        return int(db.execute("SELECT count(*) FROM turn_queue").get)

    def next(self, db: Connection, limit: int) -> list[Turn]:
        """The newest: what was just said is asked for first."""
        found = db.execute(
            f"""SELECT {turn_vectors.COLUMNS} FROM turn_queue AS q
                JOIN chatlog AS t ON t.row = q.turn {turn_vectors.BEFORE}
                WHERE {alive("t")} AND typeof(t.content) = 'text' ORDER BY q.turn DESC LIMIT ?""",
            (limit,),
        )
        return [Turn(*values) for values in found]

    def pieces(self, embedder: Embedder, item: Turn) -> list[Piece]:
        """See `Queue`."""
        return turn_vectors.pieces(embedder, item)

    def attach(self, db: Connection, embedder: Embedder, item: Turn, made: Sequence[Made]) -> bool:
        """See `Queue`."""
        same = turn_vectors.read(db, item.row) == item
        if same:
            turn_vectors.attach(db, embedder, item, made)
        return same
