"""Draining the queues: vectors for memories and turns that have none; can stop at any time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from satchel.embedding import change, lacking, standing, turn_vectors
from satchel.embedding import vectors as memory_vectors
from satchel.embedding.chunks import Made, Piece
from satchel.embedding.one_at_a_time import one_at_a_time
from satchel.embedding.turn_vectors import Turn
from satchel.errors import EngineUnavailable
from satchel.store import rows
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder
    from satchel.replica import Replica

DRAIN_TEXTS = 32
"""Memories or turns that one transaction of the queue takes."""
ROUNDS_IN_VAIN = 3
"""So often a change of the model is tried to complete while others write, and nothing is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a drain did: texts that got vectors, and those still waiting.

    `model` is the one that they are to have vectors of.
    """

    done: int
    left: int
    model: str


class Queue(Protocol):
    """Texts of one kind that want vectors."""

    def sweep(self, db: Connection, model_ids: Sequence[str], now_ms: int) -> None:
        """Queue what has no vectors of one of these models, and nothing else."""
        ...

    def waiting(self, db: Connection) -> int:
        """How many there are."""
        ...

    def next(self, db: Connection, limit: int) -> list[Any]:
        """The newest of them: what was just written is asked for first."""
        ...

    def lacks(self, db: Connection, item: Any, model_id: str) -> bool:
        """Whether this one has no vectors of this model."""
        ...

    def pieces(self, embedder: Embedder, item: Any) -> list[Piece]:
        """What to embed of one."""
        ...

    def attach(self, db: Connection, item: Any, made: Sequence[Made]) -> bool:
        """Store the vectors and unqueue the text, unless it changed while the models ran."""
        ...


def drain(
    replica: Replica,
    *,
    limit: int | None = None,
    only: Sequence[str] | None = None,
    limit_s: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
    quick: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Drained:
    """Embed what is queued or lacks vectors of the models in use: memories, then turns.

    Each batch is one transaction, so that a stop loses at most one batch of work. No batch begins
    after `limit_s` seconds, or once it is `stopped`. `progress` is called with (done, left); `only`
    are ids of queued memories; `quick` leaves out an engine that loads for seconds. Where nothing
    is left a change of the model is completed. Raises EngineUnavailable when no engine is here.
    """
    if only is None:
        change.adopt(replica)
    embedders = _makers(replica, quick)
    queues: list[Queue] = [Memories(only)] if only is not None else [Memories(), Turns()]
    end_s = math.inf if limit_s is None else time.monotonic() + limit_s
    done = rounds = 0
    while True:
        if only is None:
            _sweep(replica, queues, embedders)
        before = done
        for queue in queues:
            while (room := _room(limit, done)) and time.monotonic() < end_s and not stopped():
                batch = drain_batch(replica, embedders, queue, room)
                if not batch:
                    break
                done += batch
                if progress:
                    progress(done, waiting(replica, queues))
        left = waiting(replica, queues)
        if only is not None or (not left and change.settle(replica, embedders[-1])):
            break
        rounds = 0 if done > before else rounds + 1
        if rounds == ROUNDS_IN_VAIN or room == 0 or time.monotonic() >= end_s or stopped():
            return Drained(done=done, left=left, model=embedders[-1].model_id)
    if only is None:
        change.clear(replica)
    return Drained(done=done, left=left, model=embedders[-1].model_id)


def _makers(replica: Replica, quick: bool) -> tuple[Embedder, ...]:
    """Raises EngineUnavailable for none."""
    embedders = replica.makers(quick=quick)
    if not embedders:
        raise EngineUnavailable(
            f"nothing can be embedded: {replica.embedder_reason}", field="embedding.engine"
        )
    return embedders


def _sweep(replica: Replica, queues: Sequence[Queue], embedders: Sequence[Embedder]) -> None:
    model_ids = [embedder.model_id for embedder in embedders]
    with replica.store.write() as db:
        for queue in queues:
            queue.sweep(db, model_ids, replica.now_ms())


def _room(limit: int | None, done: int) -> int:
    return DRAIN_TEXTS if limit is None else min(DRAIN_TEXTS, limit - done)


def waiting(replica: Replica, queues: Sequence[Queue] | None = None) -> int:
    """Texts that want a vector."""
    with replica.store.read() as db:
        return sum(queue.waiting(db) for queue in queues or (Memories(), Turns()))


def drain_batch(replica: Replica, embedders: Sequence[Embedder], queue: Queue, room: int) -> int:
    """Embed and store the next few; how many got their vectors.

    One process at a time: two would embed the same texts.
    """
    with one_at_a_time(replica.store):
        with replica.store.read() as db:
            batch = [Waiting(item, []) for item in queue.next(db, room)]
            wanted = [
                [one for one in batch if queue.lacks(db, one.item, embedder.model_id)]
                for embedder in embedders
            ]
        for embedder, some in zip(embedders, wanted, strict=True):
            _embed(embedder, queue, some)
        if not batch:
            return 0
        with replica.store.write() as db:
            left = standing.read(db).left  # the model may have been changed meanwhile
            return sum(queue.attach(db, one.item, one.but(left)) for one in batch)


class Waiting(NamedTuple):
    """A text of a batch, and what was made for it."""

    item: Any
    made: list[Made]

    def but(self, left: Collection[str]) -> list[Made]:
        """What was made by other models than these."""
        return [one for one in self.made if one.embedder.model_id not in left]


def _embed(embedder: Embedder, queue: Queue, some: Sequence[Waiting]) -> None:
    """Add this model's vectors to these texts."""
    pieces = [queue.pieces(embedder, one.item) for one in some]
    texts = [piece.text for found in pieces for piece in found]
    rest = iter(embedder.embed_documents(texts) if texts else ())
    for one, found in zip(some, pieces, strict=True):
        one.made.append(Made(embedder, [(piece, next(rest)) for piece in found]))


class Memories:
    """The queue of memories; of these alone, where `only` are their ids."""

    def __init__(self, only: Sequence[str] | None = None) -> None:
        """All of them, unless told otherwise."""
        self._only = None if only is None else json.dumps(list(only))

    def sweep(self, db: Connection, model_ids: Sequence[str], now_ms: int) -> None:
        """See `Queue`."""
        given, models = lacking.params(*model_ids), len(model_ids)
        db.execute(
            f"""INSERT INTO embed_queue(memory_id, since_ms)
                SELECT t.id, :now {lacking.rows("memory", models)} ON CONFLICT DO NOTHING""",
            given | {"now": now_ms},
        )
        db.execute(
            f"""DELETE FROM embed_queue WHERE NOT EXISTS (
                    SELECT 1 {lacking.rows("memory", models)} AND t.id = embed_queue.memory_id)""",
            given,
        )

    def waiting(self, db: Connection) -> int:
        """See `Queue`."""
        return int(db.execute("SELECT count(*) FROM embed_queue").get)

    def next(self, db: Connection, limit: int) -> list[Memory]:
        """See `Queue`."""
        found = db.execute(
            f"""SELECT t.id FROM (
                    SELECT memory_id, since_ms FROM embed_queue
                    WHERE :only IS NULL OR memory_id IN (SELECT value FROM json_each(:only))
                    ORDER BY since_ms DESC, memory_id DESC LIMIT :limit) AS q
                JOIN memory AS t ON t.id = q.memory_id
                WHERE {lacking.WORTH["memory"]} ORDER BY q.since_ms DESC, q.memory_id DESC""",
            {"limit": limit, "only": self._only},
        )
        keys = [str(key) for (key,) in found.fetchall()]
        return [rows.get(db, MEMORY, key) for key in keys]

    def lacks(self, db: Connection, item: Memory, model_id: str) -> bool:
        """See `Queue`."""
        return _lacks(db, "memory", "t.id", item.id, model_id)

    def pieces(self, embedder: Embedder, item: Memory) -> list[Piece]:
        """See `Queue`."""
        return memory_vectors.pieces(embedder, item)

    def attach(self, db: Connection, item: Memory, made: Sequence[Made]) -> bool:
        """See `Queue`."""
        held: Memory | None = rows.get(db, MEMORY, item.id)
        if held is None or _text(held) != _text(item):
            return False
        memory_vectors.attach(
            db,
            item.id,
            [
                row
                for embedder, some in made
                for row in memory_vectors.rows_of(embedder, item, [vector for _, vector in some])
            ],
        )
        return True


def _text(memory: Memory) -> tuple[str | None, ...]:
    return (memory.title, memory.content, memory.aliases)


class Turns:
    """The queue of chat turns."""

    def sweep(self, db: Connection, model_ids: Sequence[str], now_ms: int) -> None:
        """See `Queue`; what leaves the queue by being deleted is settled by triggers."""
        given, models = lacking.params(*model_ids), len(model_ids)
        db.execute(
            f"""INSERT INTO turn_queue(turn)
                SELECT t.row {lacking.rows("chatlog", models)} ON CONFLICT DO NOTHING""",
            given,
        )
        db.execute(
            f"""DELETE FROM turn_queue WHERE NOT EXISTS (
                    SELECT 1 {lacking.rows("chatlog", models)} AND t.row = turn_queue.turn)""",
            given,
        )

    def waiting(self, db: Connection) -> int:
        """See `Queue`."""
        return int(db.execute("SELECT count(*) FROM turn_queue").get)

    def next(self, db: Connection, limit: int) -> list[Turn]:
        """See `Queue`."""
        found = db.execute(
            f"""SELECT {turn_vectors.COLUMNS} FROM turn_queue AS q
                JOIN chatlog AS t ON t.row = q.turn {turn_vectors.BEFORE}
                WHERE {lacking.WORTH["chatlog"]} ORDER BY q.turn DESC LIMIT :limit""",
            lacking.params() | {"limit": limit},
        )
        return [Turn(*values) for values in found]

    def lacks(self, db: Connection, item: Turn, model_id: str) -> bool:
        """See `Queue`."""
        return _lacks(db, "chatlog", "t.row", item.row, model_id)

    def pieces(self, embedder: Embedder, item: Turn) -> list[Piece]:
        """See `Queue`."""
        return turn_vectors.pieces(embedder, item)

    def attach(self, db: Connection, item: Turn, made: Sequence[Made]) -> bool:
        """See `Queue`."""
        same = turn_vectors.read(db, item.row) == item
        if same:
            turn_vectors.attach(db, item, made)
        return same


def _lacks(db: Connection, kind: str, column: str, key: str | int, model_id: str) -> bool:
    sql = f"SELECT EXISTS (SELECT 1 {lacking.rows(kind)} AND {column} = :key)"
    return bool(db.execute(sql, lacking.params(model_id) | {"key": key}).get)
