"""The vectors of a memory: made from its title and text, stored chunk by chunk, queued when not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from satchel.embedding.chunks import Piece, split
from satchel.embedding.contract import Embedder
from satchel.store import rows
from satchel.store.embedded_text import embedded_text, text_hash
from satchel.store.seal import hash_texts
from satchel_sync.digest import derived_id
from satchel_sync.tables import EMBEDDING, Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

DTYPE = "f32"


def pieces(embedder: Embedder, memory: Memory) -> list[Piece]:
    """What to embed: the chunks of "title (alias, alias)", a line end, and the text."""
    whole = embedded_text(memory.title, memory.aliases, memory.content)
    chunks = split(whole, embedder.window, embedder.count_tokens)
    return [Piece(0, number, text) for number, text in enumerate(chunks)]


def make(embedder: Embedder, memory: Memory) -> list[Embedding]:
    """One embedding a chunk."""
    texts = [piece.text for piece in pieces(embedder, memory)]
    return rows_of(embedder, memory, embedder.embed_documents(texts) if texts else [])


def rows_of(embedder: Embedder, memory: Memory, vectors: Sequence[bytes]) -> list[Embedding]:
    """The rows of a memory's vectors, chunk by chunk; each knows the hash of its text."""
    hashed = text_hash(memory.title, memory.aliases, memory.content)
    return [
        Embedding(
            id=derived_id(memory.id, embedder.model_id, number),
            memory_id=memory.id,
            model=embedder.model_id,
            chunk=number,
            content_hash=hashed,
            dims=embedder.dims,
            dtype=DTYPE,
            vector=vector,
        )
        for number, vector in enumerate(vectors)
    ]


def moved(memory: Memory, made: Sequence[Embedding]) -> list[Embedding]:
    """The same vectors as those of another memory, which has the same text."""
    return [
        replace(
            one,
            id=derived_id(memory.id, one.model or "", one.chunk or 0),
            memory_id=memory.id,
        )
        for one in made
    ]


def of_model(made: Sequence[Embedding], model_id: str | None) -> list[Embedding]:
    """Those by this model, or by the first there is where none is."""
    models = [one.model for one in made]
    wanted = model_id if model_id in models else next(iter(models), None)
    return [one for one in made if one.model == wanted]


def attach(db: Connection, memory_id: str, made: Sequence[Embedding]) -> None:
    """Store a memory's vectors in place of its older ones of the same models, and unqueue it."""
    hash_texts(db)  # not only when sealed: a hash that comes later makes a second change of each
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
    for model_id, chunks in Counter(one.model for one in made).items():
        db.execute(
            "DELETE FROM embedding WHERE memory_id = ? AND model = ? AND chunk >= ?",
            (memory_id, model_id, chunks),
        )
    db.execute("DELETE FROM embed_queue WHERE memory_id = ?", (memory_id,))


def enqueue(db: Connection, memory_id: str, now_ms: int) -> None:
    """Leave the vector to the next process that has an engine."""
    db.execute(
        "INSERT INTO embed_queue(memory_id, since_ms) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (memory_id, now_ms),
    )
