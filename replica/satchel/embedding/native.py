"""The engine of `satchel_native`: small to import, and warm within the time of one search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from satchel.embedding.contract import Embedder
from satchel.embedding.models import Model, unusable
from satchel.embedding.prompts import Prompts
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    import satchel_native

WARM_BYTES_MAX = 256 << 20
"""Weights up to this size are read within the time of one search, so a command may embed inline."""
_NUMBER_BYTES = 4
_ALL_CORES = 0


class NativeEmbedder:
    """`Embedder` over a model folder that the Rust core has opened."""

    def __init__(
        self, engine: satchel_native.Embedder, model_id: str, prompts: Prompts, window: int
    ) -> None:
        self._engine = engine
        self._prompts = prompts
        self.model_id = model_id
        self.window = window
        self.dims = engine.dims

    def count_tokens(self, text: str) -> int:
        """Tokens with the two special ones and the prompt that stands before a text."""
        return self._engine.count_tokens(self._prompts.document + text)

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int, int], object] | None = None
    ) -> list[bytes]:
        """See `contract.Embedder`; `progress` is called with (done, all) between slices."""
        return self._encode([self._prompts.document + text for text in texts], progress)

    def embed_query(self, text: str) -> bytes:
        """See `contract.Embedder`."""
        return self._encode([self._prompts.query + text])[0]

    def _encode(
        self, texts: list[str], progress: Callable[[int, int], object] | None = None
    ) -> list[bytes]:
        from satchel_native import ModelError

        try:
            found = self._engine.encode(texts, _ALL_CORES, progress)
        except ModelError as error:
            raise EngineUnavailable(
                f"{self.model_id} could not embed: {error}",
                hint="`satchel model verify` tells whether the weights are whole",
                field="embedding.model",
            ) from error
        size = self.dims * _NUMBER_BYTES
        return [found[start : start + size] for start in range(0, len(found), size)]


def refusal() -> str:
    """Why the Rust core can't be used here; empty where it can."""
    from satchel.ranking import native_refusal

    return native_refusal() or ""


def is_quick(model: Model) -> bool:
    """Whether the engine with this model is as good as warm before it is loaded."""
    return model.weights.stat().st_size <= WARM_BYTES_MAX


def load(model: Model) -> Embedder:
    """The engine with this model. Raises EngineUnavailable with the reason when it can't load."""
    model_id = model.model_id  # the weights are recognised before they are used
    reason = refusal()
    if reason:
        raise EngineUnavailable(reason, field="embedding.engine")
    import satchel_native

    try:
        engine = satchel_native.Embedder.open(model.folder)
    except satchel_native.ModelError as error:
        raise unusable(model.folder, f"{error} ({error.code})") from error
    return NativeEmbedder(engine, model_id, model.prompts, engine.window)
