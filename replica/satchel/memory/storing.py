"""Putting a new memory with its vectors into the store, and what a write answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from satchel.embedding import standing, vectors
from satchel.store import rows
from satchel.store.embedded_text import text_hash
from satchel_sync.tables import Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

Outcome = Literal["created", "exists", "merged", "superseded"]
EmbeddingOutcome = Literal["done", "queued", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a write; `id` is the memory that now holds the text.

    `created`: a new one. `exists`: it was there, and nothing changed. `merged`: it was there, and
    took over what was new beside the text. `superseded`: a new one, which closed those of the list.
    `similar` are others that say nearly the same: `{id, score, differs}`, score the cosine.
    """

    id: str
    outcome: Outcome
    superseded: list[str]
    similar: list[dict[str, Any]]
    embedding: EmbeddingOutcome
    warnings: list[str]


def embed_now(replica: Replica, draft: Memory) -> list[Embedding] | None:
    """Vectors, when the model is warm: before the transaction, so that no lock waits for it.

    Of two models while one takes the other's place, those that questions are asked with first.
    """
    if replica.embedding_state != "warm":
        return None
    makers = replica.makers(quick=True)
    return [one for maker in makers for one in vectors.make(maker, draft)] if makers else None


def store_new(
    db: Connection, replica: Replica, memory: Memory, made: Sequence[Embedding] | None
) -> EmbeddingOutcome:
    """Inside the write: the row with its vectors, or with its place in the queue."""
    rows.insert(db, memory)
    return _attach(db, replica, memory.id, made) if made else leave_queued(db, replica, memory.id)


def give_vectors(
    db: Connection,
    replica: Replica,
    memory: Memory,
    made: Sequence[Embedding] | None,
) -> EmbeddingOutcome:
    """Inside the write: these vectors for a memory whose names changed, if they are of its text.

    Else it is queued.
    """
    wanted = text_hash(memory.title, memory.aliases, memory.content)
    if not made or wanted != made[0].content_hash:
        return leave_queued(db, replica, memory.id)
    return _attach(db, replica, memory.id, vectors.moved(memory, made))


def _attach(
    db: Connection, replica: Replica, memory_id: str, made: Sequence[Embedding]
) -> EmbeddingOutcome:
    """Vectors that were made before the write; the model may have been changed since."""
    wanted = standing.settled(db, replica, [one.model or "" for one in made])
    vectors.attach(db, memory_id, [one for one in made if one.model in wanted.kept])
    if wanted.more:
        vectors.enqueue(db, memory_id, replica.now_ms())
    return "done" if wanted.kept else "queued"


def leave_queued(db: Connection, replica: Replica, memory_id: str) -> EmbeddingOutcome:
    """Inside the write: queue the vector, for whichever process can make it."""
    if replica.embedding_state == "off":
        return "off"
    vectors.enqueue(db, memory_id, replica.now_ms())
    return "queued"


def embedding_of(db: Connection, replica: Replica, memory_id: str) -> EmbeddingOutcome:
    """How it stands with the vector of a memory that was there already."""
    if replica.embedding_state == "off":
        return "off"
    waits = db.execute("SELECT 1 FROM embed_queue WHERE memory_id = ?", (memory_id,)).get
    return "done" if waits is None else "queued"


def unchanged(
    db: Connection, replica: Replica, memory: Memory, warnings: Sequence[str] = ()
) -> Written:
    """The answer where nothing was stored."""
    return Written(
        id=memory.id,
        outcome="exists",
        superseded=[],
        similar=[],
        embedding=embedding_of(db, replica, memory.id),
        warnings=list(warnings),
    )
