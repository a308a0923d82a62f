"""Embedding: one contract, the engines that keep it, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from satchel.embedding.contract import Embedder
from satchel.embedding.models import Model, find_model
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    from satchel.config import Settings

__all__ = ["Embedder", "availability", "choose", "is_quick"]

NATIVE = "native"
REFERENCE = "sentence-transformers"
ENGINES = (NATIVE, REFERENCE)
"""What `auto` tries, in this order: the second needs torch, and seconds to start."""


def availability(settings: Settings) -> tuple[bool, str]:
    """Whether an engine and a model are here, with the reason when not; loads neither."""
    if settings.embedding == "off":
        return False, "embedding is off in the configuration"
    engines, reason = _engines(settings)
    if not engines:
        return False, reason
    try:
        find_model(settings.model, settings.home)
    except EngineUnavailable as error:
        return False, str(error)
    return True, ""


def is_quick(settings: Settings) -> bool:
    """Whether the engine that would be chosen loads within the time of one search."""
    from satchel.embedding import native

    if not availability(settings)[0] or _engines(settings)[0][0] != NATIVE:
        return False
    return native.is_quick(find_model(settings.model, settings.home))


def choose(settings: Settings) -> tuple[Embedder | None, str]:
    """The engine to use and "", or None and the reason; loading a model may take seconds.

    Raises EngineUnavailable when an engine was asked for by name and can't be had.
    """
    here, reason = availability(settings)
    reasons = [] if here else [reason]
    for engine in _engines(settings)[0] if here else ():
        try:
            return _load(engine, find_model(settings.model, settings.home)), ""
        except EngineUnavailable as error:
            reasons.append(str(error))
    reason = "; ".join(dict.fromkeys(reasons))
    if settings.embedding in ("auto", "off"):
        return None, reason
    raise EngineUnavailable(
        f"embedding: {reason}",
        hint="`satchel model list` shows what is here; `embedding.engine` = `auto` takes what is",
        field="embedding.engine",
    )


def _engines(settings: Settings) -> tuple[list[str], str]:
    """The engines that may be tried, in order, and why there is none."""
    wanted = ENGINES if settings.embedding == "auto" else (settings.embedding,)
    if not set(wanted) <= set(ENGINES):
        return [], f"this release has no embedding engine {settings.embedding!r}"
    refusals = {engine: _REFUSALS[engine]() for engine in wanted}
    here = [engine for engine, refusal in refusals.items() if not refusal]
    return here, "" if here else "; ".join(refusals.values())


def _native_refusal() -> str:
    from satchel.embedding import native

    return native.refusal()


def _reference_refusal() -> str:
    here = find_spec("sentence_transformers") is not None
    return "" if here else "the package `sentence-transformers` is not installed"


_REFUSALS: dict[str, Callable[[], str]] = {
    NATIVE: _native_refusal,
    REFERENCE: _reference_refusal,
}


def _load(engine: str, model: Model) -> Embedder:
    # Each engine is imported when it is used: that of torch takes seconds.
    if engine == NATIVE:
        from satchel.embedding import native

        return native.load(model)
    from satchel.embedding import sentence_transformers

    return sentence_transformers.load(model)
