"""The vectors of a memory: made from its title and text, stored chunk by chunk, queued when not."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.embedding.chunks import split
from satchel.embedding.contract import Embedder
from satchel.store import rows
from satchel_sync.digest import derived_id
from satchel_sync.tables import EMBEDDING, Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

DTYPE = "f32"
_log = logging.getLogger(__name__)


def make(embedder: Embedder, memory: Memory) -> list[Embedding]:
    """One embedding a chunk of the memory's title and text."""
    whole = "\n".join(part for part in (memory.title, memory.content) if part)
    chunks = split(whole, embedder.window, embedder.count_tokens)
    vectors = embedder.embed_documents(chunks) if chunks else []
    return [
        Embedding(
            id=derived_id(memory.id, embedder.model_id, number),
            memory_id=memory.id,
            model=embedder.model_id,
            chunk=number,
            content_hash=memory.content_hash,
            dims=embedder.dims,
            dtype=DTYPE,
            vector=vector,
        )
        for number, vector in enumerate(vectors)
    ]


def attach(db: Connection, memory_id: str, model_id: str, made: Sequence[Embedding]) -> None:
    """Store a memory's vectors in place of its older ones of this model, and unqueue it."""
    for one in made:
        if rows.get(db, EMBEDDING, one.id) is None:
            rows.insert(db, one)
        else:
            rows.update(
                db,
                EMBEDDING,
                one.id,
                content_hash=one.content_hash,
                dims=one.dims,
                dtype=one.dtype,
                vector=one.vector,
            )
    db.execute(
        "DELETE FROM embedding WHERE memory_id = ? AND model = ? AND chunk >= ?",
        (memory_id, model_id, len(made)),
    )
    db.execute("DELETE FROM embed_queue WHERE memory_id = ?", (memory_id,))


def enqueue(db: Connection, memory_id: str, now_ms: int) -> None:
    """Leave the vector to the next process that has an engine."""
    db.execute(
        "INSERT INTO embed_queue(memory_id, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (memory_id, now_ms),
    )
