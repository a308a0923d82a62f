"""Embedding: one contract, the engines that keep it, and the choice between them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from satchel.embedding.contract import Embedder
from satchel.embedding.models import find_model
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    from satchel.config import Settings

__all__ = ["Embedder", "availability", "choose"]

BUILT = ("auto", "sentence-transformers")
"""Values of `embedding.engine` that this release has an engine for, beside `off`."""


def availability(settings: Settings) -> tuple[bool, str]:
    """Whether an engine and a model are here, with the reason when not; loads neither."""
    if settings.embedding == "off":
        return False, "embedding is off in the configuration"
    if settings.embedding not in BUILT:
        return False, f"this release has no embedding engine {settings.embedding!r}"
    if find_spec("sentence_transformers") is None:
        return False, "the package `sentence-transformers` is not installed"
    try:
        find_model(settings.model)
    except EngineUnavailable as error:
        return False, str(error)
    return True, ""


def choose(settings: Settings) -> tuple[Embedder | None, str]:
    """The engine to use and "", or None and the reason; loading a model takes seconds.

    Raises EngineUnavailable when an engine was asked for by name and can't be had.
    """
    here, reason = availability(settings)
    if here:
        try:
            return _load(settings), ""
        except EngineUnavailable as error:
            reason = str(error)
    if settings.embedding in ("auto", "off"):
        return None, reason
    raise EngineUnavailable(
        f"embedding: {reason}",
        hint="install `satchel[sentence-transformers]`, or set `embedding.engine` to `auto`",
        field="embedding.engine",
    )


def _load(settings: Settings) -> Embedder:
    from satchel.embedding.sentence_transformers import load  # the import of torch takes seconds

    return load(find_model(settings.model))
