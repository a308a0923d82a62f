"""Where a model of a given id lies on this machine: ids are names with a hash, not paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.embedding import packs, stamps
from satchel.embedding.models import MODELS, PACKAGED_NAME, Model, find_model
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    from satchel.config import Settings


def locate(model_id: str, settings: Settings) -> Model:
    """The model with these very weights. Raises EngineUnavailable when it is not here."""
    name = model_id.rpartition("@")[0]
    for find in _finders(name, settings):
        with suppress(EngineUnavailable):  # what cannot be read is not the one
            model = find()
            if model.name == name and model.model_id == model_id:
                return model
    raise EngineUnavailable(
        f"the model {model_id} is not on this machine any more",
        hint="put its folder back, or `satchel model reembed` makes vectors of the configured one",
        field="embedding.model",
    )


def _finders(name: str, settings: Settings) -> Iterator[Callable[[], Model]]:
    """Where it may be, the quickest first: as configured, where it was hashed once, by its name."""
    home = settings.home
    yield partial(find_model, settings.model, home)
    if name == PACKAGED_NAME:
        yield partial(find_model, None, home)
    for weights in stamps.remembered(stamps.stamps_folder(home)):
        if weights.parent.name == name:
            yield partial(find_model, str(weights.parent), home)
    yield partial(find_model, name, home)


def named(home: Path) -> list[str]:
    """Names that a model may be asked for by: packaged, in <home>/models, installed as packs."""
    in_home = sorted(path.parent.name for path in (home / MODELS).glob("*/modules.json"))
    return list(dict.fromkeys([PACKAGED_NAME, *in_home, *packs.names()]))
