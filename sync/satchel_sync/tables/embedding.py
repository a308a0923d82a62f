"""Row kind `embedding`: a vector of one chunk of a memory under one model."""

from __future__ import annotations

from dataclasses import dataclass

from satchel_sync.tables.kinds import table


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector of one chunk of a memory under one model.

    `model` is the model's name and the hash of its weights; `dtype` f16 or f32;
    `vector` little-endian.
    Usable only while `content_hash` equals the memory's.
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
