"""The engine on `sentence-transformers`: the reference, heavy to import, an optional extra."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from satchel.embedding.contract import Embedder
from satchel.embedding.models import Model
from satchel.embedding.no_code import require_no_code
from satchel.errors import EngineUnavailable

BATCH_TEXTS = 32
_FAILURES = (ImportError, OSError, ValueError, TypeError, AttributeError, RuntimeError, LookupError)
"""What a folder that is not as it should be ends in."""


class SentenceTransformersEmbedder:
    """`Embedder` over a loaded `SentenceTransformer`."""

    def __init__(self, engine: Any, model: Model) -> None:
        self._engine = engine
        self._prompts = model.prompts
        self.model_id = model.model_id
        self.window = min(int(engine.max_seq_length or model.window), model.window)
        # Version 6 renamed it and warns of the old name; version 5 has the old one only.
        name = "get_embedding_dimension"
        dims = getattr(engine, name, None) or engine.get_sentence_embedding_dimension
        self.dims = int(dims())

    def count_tokens(self, text: str) -> int:
        """Tokens with the two special ones and the prompt that stands before a text."""
        whole = self._prompts.document + text
        return len(self._engine.tokenizer.encode(whole, add_special_tokens=True))

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """See `contract.Embedder`."""
        return self._encode(self._prompts.document, texts)

    def embed_query(self, text: str) -> bytes:
        """See `contract.Embedder`."""
        return self._encode(self._prompts.query, [text])[0]

    def _encode(self, prompt: str, texts: Sequence[str]) -> list[bytes]:
        found = self._engine.encode(
            list(texts),
            prompt=prompt,
            batch_size=BATCH_TEXTS,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return [_packed(row.tolist()) for row in found]


def load(model: Model) -> Embedder:
    """The engine with this model; what its folder brings of code is never run.

    Raises EngineUnavailable with the reason when it can't load.
    """
    model_id = model.model_id  # the weights are recognised before they are used
    require_no_code(model.folder)
    try:
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise _unloadable(model_id, error) from error
    try:
        engine = SentenceTransformer(
            str(model.folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except (*_FAILURES, SafetensorError) as error:
        raise _unloadable(model_id, error) from error
    return SentenceTransformersEmbedder(engine, model)


def _unloadable(model_id: str, error: Exception) -> EngineUnavailable:
    return EngineUnavailable(
        f"sentence-transformers could not load {model_id}: {error}",
        hint="`pip install --upgrade sentence-transformers safetensors`, or check the model folder",
        field="embedding.engine",
    )


def _packed(numbers: Iterable[float]) -> bytes:
    values = list(numbers)
    return struct.pack(f"<{len(values)}f", *values)
