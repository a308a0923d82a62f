"""What an embedding engine is: texts in, vectors of one model out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """An engine with one model loaded. The same text gives the same vector, in any batch."""

    @property
    def model_id(self) -> str:
        """`name@first 12 hex digits of the weights' SHA-256`: vectors of two ids never meet."""
        ...

    @property
    def dims(self) -> int:
        """Numbers in a vector."""
        ...

    @property
    def window(self) -> int:
        """Tokens that one vector can cover; what is behind them would be cut off."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as the model counts them against its window."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """One vector a text: `dims` little-endian float32 numbers, not all zero for real text."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The vector of a question, comparable by cosine with those of documents."""
        ...
