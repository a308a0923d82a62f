"""Embedding: one contract, the engines that keep it, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from satchel.embedding.contract import Embedder
from satchel.embedding.models import Model, find_model
from satchel.errors import EngineUnavailable
from satchel.extras import from_wheels

if TYPE_CHECKING:
    from satchel.config import Settings

__all__ = ["Embedder", "Opened", "availability", "choose", "is_quick", "open_engine", "open_model"]

NATIVE = "native"
REFERENCE = "sentence-transformers"
ENGINES = (NATIVE, REFERENCE)
_INSTALLING = {
    NATIVE: from_wheels("native"),
    REFERENCE: "`pip install sentence-transformers safetensors`",
}
"""What `auto` tries, in this order: the second needs torch, and seconds to start."""


class Opened(NamedTuple):
    """An engine by its name, ready to embed."""

    engine: str
    embedder: Embedder


def availability(settings: Settings) -> tuple[bool, str]:
    """Whether an engine and a model are here, with the reason when not; loads neither."""
    try:
        _ready(settings)
    except EngineUnavailable as error:
        return False, str(error)
    return True, ""


def is_quick(settings: Settings) -> bool:
    """Whether the engine that would be chosen loads within the time of one search."""
    try:
        return is_quick_with(settings, find_model(settings.model, settings.home))
    except EngineUnavailable:
        return False


def is_quick_with(settings: Settings, model: Model) -> bool:
    """The same of this model. Raises EngineUnavailable where no engine is here."""
    from satchel.embedding import native

    return engines_of(settings)[0] == NATIVE and native.is_quick(model)


def choose(settings: Settings) -> tuple[Embedder | None, str]:
    """The engine to use and "", or None and the reason; loading a model may take seconds.

    Raises EngineUnavailable when an engine was asked for by name and can't be had.
    """
    try:
        return open_engine(settings).embedder, ""
    except EngineUnavailable as error:
        if settings.embedding in ("auto", "off"):
            return None, str(error)
        raise


def open_engine(settings: Settings) -> Opened:
    """The first engine that opens the model.

    Raises EngineUnavailable with the reason of each that did not, and how to mend the first.
    """
    engines, model = _ready(settings)
    return _first(engines, model)


def open_model(settings: Settings, model: Model) -> Opened:
    """The same with this model. Raises EngineUnavailable."""
    return _first(engines_of(settings), model)


def _first(engines: list[str], model: Model) -> Opened:
    errors: list[EngineUnavailable] = []
    for engine in engines:
        try:
            return Opened(engine, _load(engine, model))
        except EngineUnavailable as error:
            errors.append(error)
    said = "; ".join(dict.fromkeys(str(error) for error in errors))
    raise EngineUnavailable(said, hint=errors[0].hint, field=errors[0].field) from errors[0]


def _ready(settings: Settings) -> tuple[list[str], Model]:
    """The engines that may be tried, in order, and the model. Raises EngineUnavailable."""
    return engines_of(settings), find_model(settings.model, settings.home)


def engines_of(settings: Settings) -> list[str]:
    """The engines that may be tried, in order. Raises EngineUnavailable."""
    if settings.embedding == "off":
        raise EngineUnavailable(
            "embedding is off in the configuration",
            hint="`embedding.engine` = `auto` takes what is here",
            field="embedding.engine",
        )
    return _engines(settings.embedding)


def _engines(asked: str) -> list[str]:
    """The engines that can be imported here, in order. Raises EngineUnavailable for none."""
    wanted = ENGINES if asked == "auto" else (asked,)
    if not set(wanted) <= set(ENGINES):
        raise EngineUnavailable(
            f"this release has no embedding engine {asked!r}",
            hint=f"set `embedding.engine` to auto, {', '.join(ENGINES)} or off",
            field="embedding.engine",
        )
    refusals = {engine: _REFUSALS[engine]() for engine in wanted}
    here = [engine for engine, refusal in refusals.items() if not refusal]
    if not here:
        raise EngineUnavailable(
            "; ".join(refusals.values()),
            hint=" or ".join(_INSTALLING[engine] for engine in wanted),
            field="embedding.engine",
        )
    return here


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
