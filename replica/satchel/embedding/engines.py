"""The engines of a replica: the one that questions are asked with, and those that texts get.

Mostly both are one. While a model takes another one's place (standing.py) a question is asked with
the old one, whose vectors are whole, and a new text gets vectors of both.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from satchel.embedding import engines_of, is_quick_with, open_model
from satchel.embedding.models import Model, find_model
from satchel.embedding.places import locate
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.embedding.standing import Standing

T = TypeVar("T")
AGAIN_S = 10
"""A model that was not found is looked for again after so long: somebody may put it there."""
EmbeddingState = Literal["warm", "cold", "absent", "off"]


class Asked(NamedTuple):
    """The engine for questions, or the reason why there is none, and what to tell of it."""

    embedder: Embedder | None
    reason: str = ""
    notices: tuple[str, ...] = ()


class Engines:
    """Opened once each, by model; any thread may ask."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is looked for yet."""
        self._settings = settings
        self._lock = threading.RLock()
        self._located: dict[str | None, Model | EngineUnavailable] = {}
        self._again_s: dict[str | None, float] = {}
        self._opened: dict[str, Embedder | EngineUnavailable] = {}

    def asked(self, standing: Standing) -> Asked:
        """Raises EngineUnavailable when an engine was asked for by name and can't be had."""
        try:
            embedder = self._first(standing)
        except EngineUnavailable as error:
            if self._settings.embedding in ("auto", "off"):
                return Asked(None, str(error))
            raise
        return Asked(embedder, notices=tuple(self._notices(standing, embedder)))

    def makers(self, standing: Standing, *, quick: bool = False) -> tuple[Embedder, ...]:
        """The engines whose vectors a text is to have, that of questions first; maybe none.

        `quick` leaves out what does not load within the time of one search. Raises what `asked`
        raises.
        """
        asked = self.asked(standing).embedder
        if asked is None:
            return ()
        becoming = self._becoming(standing, quick=quick)
        return (asked,) if becoming is None or becoming is asked else (asked, becoming)

    def state(self, standing: Standing) -> EmbeddingState:
        """`warm` loaded, `cold` could be loaded, `absent` not on this machine, `off` configured.

        An engine that loads within the time of one search counts as warm, until that fails.
        """
        if self._settings.embedding == "off":
            return "off"
        try:
            model = next(self._models(standing))
            quick = is_quick_with(self._settings, model)
        except (EngineUnavailable, StopIteration):
            return "absent"
        held = self._opened.get(model.model_id)
        return "warm" if (held is None and quick) or _is_open(held) else "cold"

    def configured(self) -> Model:
        """The model that the configuration names. Raises EngineUnavailable."""
        return self._model(None)

    def wanted(self, standing: Standing) -> str | None:
        """The model to change to where the one in use is gone and nobody began a change."""
        if standing.in_use is None or standing.becoming:
            return None
        embedder = self.asked(standing).embedder
        return embedder.model_id if embedder and embedder.model_id != standing.in_use else None

    def _first(self, standing: Standing) -> Embedder:
        """The first model that opens. Raises the EngineUnavailable of the last, the configured."""
        engines_of(self._settings)
        for model_id in _ids(standing):
            try:
                embedder = self._open(self._model(model_id))
            except EngineUnavailable:
                if model_id is None:
                    raise
            else:
                self._let_go(standing, embedder)
                return embedder
        raise AssertionError("the configured one is the last")

    def _models(self, standing: Standing) -> Iterator[Model]:
        """Those that are on this machine. Raises EngineUnavailable for the configured one."""
        for model_id in _ids(standing):
            try:
                model = self._model(model_id)
                _ = model.model_id  # the weights are read, too
            except EngineUnavailable:
                if model_id is None:
                    raise
            else:
                yield model

    def _becoming(self, standing: Standing, *, quick: bool) -> Embedder | None:
        if standing.becoming is None:
            return None
        try:
            model = self._model(standing.becoming)
            if quick and not is_quick_with(self._settings, model):
                return None
            return self._open(model)
        except EngineUnavailable:
            return None  # the texts stay queued; doctor and `model list` tell why

    def _notices(self, standing: Standing, embedder: Embedder) -> Iterator[str]:
        used = embedder.model_id
        if standing.in_use not in (None, used):
            yield (
                f"the model {standing.in_use} is not on this machine any more: meaning finds what"
                f" {used} has vectors of already"
            )
            return
        try:
            configured = self.configured().model_id
        except EngineUnavailable as error:
            yield f"asked with {used}, for the configured model cannot be used: {error}"
            return
        if configured not in (used, standing.becoming):
            yield (
                f"asked with {used}, whose vectors are here; the configured model is {configured}:"
                " `satchel model reembed` changes over"
            )

    def _model(self, model_id: str | None) -> Model:
        """The model of this id, the configured one for None. Raises EngineUnavailable."""
        with self._lock:
            held = self._located.get(model_id)
            late = time.monotonic() > self._again_s.get(model_id, math.inf)
            if held is None or (late and isinstance(held, EngineUnavailable)):
                settings = self._settings
                found = (
                    _tried(lambda: find_model(settings.model, settings.home))
                    if model_id is None
                    else _tried(lambda: locate(model_id, settings))
                )
                self._located[model_id] = found
                self._again_s[model_id] = time.monotonic() + AGAIN_S
            return _got(self._located[model_id])

    def _open(self, model: Model) -> Embedder:
        with self._lock:
            model_id = model.model_id
            if model_id not in self._opened:
                found = _tried(lambda: open_model(self._settings, model).embedder)
                self._opened[model_id] = found
            return _got(self._opened[model_id])

    def _let_go(self, standing: Standing, asked: Embedder) -> None:
        """Of models that are no longer used; who is at work with one keeps it."""
        kept = (asked.model_id, standing.in_use, standing.becoming)
        if any(_is_open(held) and one not in kept for one, held in [*self._opened.items()]):
            with self._lock:
                self._opened = {one: held for one, held in self._opened.items() if one in kept}


def _ids(standing: Standing) -> list[str | None]:
    """Models to ask with, the first that is here is taken; None is the configured one."""
    return [*(one for one in (standing.in_use, standing.becoming) if one), None]


def _tried(get: Callable[[], T]) -> T | EngineUnavailable:
    try:
        return get()
    except EngineUnavailable as error:
        return error


def _got(found: T | EngineUnavailable) -> T:
    if isinstance(found, EngineUnavailable):
        raise found
    return found


def _is_open(found: Embedder | EngineUnavailable | None) -> bool:
    return found is not None and not isinstance(found, EngineUnavailable)
