"""Row kind `embedding`: a vector of one chunk of a memory under one model."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector of one chunk of a memory under one model.

    `model` is the model's name and the hash of its weights; `dtype` f16 or f32;
    `vector` little-endian. `content_hash` is the hash of the text that was embedded, the memory's
    title and aliases with its content: usable only while that is the memory's text.
    """

    id: str
    memory_id: str | None = None
    model: str | None = None
    chunk: int | None = None
    content_hash: str | None = None
    dims: int | None = None
    dtype: str | None = None
    vector: bytes | None = None


EMBEDDING = table("embedding", Embedding)
