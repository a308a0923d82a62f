"""The models of this machine: which there are, which is in use, whether their weights are whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from satchel import config_file
from satchel.embedding import open_engine
from satchel.embedding.models import MODELS, PACKAGED_NAME, Model, find_model
from satchel.errors import EngineUnavailable

if TYPE_CHECKING:
    from satchel.config import Settings

SETTING = "embedding.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model by the name it is asked for. What is unknown of one that can't be used is None."""

    name: str
    in_use: bool
    usable: bool
    pinned: bool
    """Whether the SHA-256 of its weights is known beforehand, from its authors."""
    model: str | None = None
    folder: str | None = None
    size_bytes: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A model whose weights were hashed just now and which an engine has opened.

    `pinned` tells whether the digest was compared with one known from its authors.
    """

    model: str
    name: str
    folder: str
    sha256: str
    pinned: bool
    engine: str
    dims: int
    window: int


def entries(settings: Settings) -> list[Entry]:
    """The packaged model, those in <home>/models, and the one in use wherever it is."""
    in_use = settings.model or PACKAGED_NAME
    names = [PACKAGED_NAME, *_in_home(settings.home)]
    if not any(_same(name, in_use, settings.home) for name in names):
        names.append(in_use)
    return [_entry(name, settings, in_use=_same(name, in_use, settings.home)) for name in names]


def verify(settings: Settings, given: str | None) -> Verified:
    """Hash the weights of a model, of the one in use by default, and open it.

    Raises EngineUnavailable when they are not the published ones, or no engine can run the model.
    """
    model = find_model(given or settings.model, settings.home)
    digest = model.verify()
    opened = open_engine(_with(settings, model))
    return Verified(
        model=model.model_id,
        name=model.name,
        folder=str(model.folder),
        sha256=digest,
        pinned=model.pinned is not None,
        engine=opened.engine,
        dims=opened.embedder.dims,
        window=opened.embedder.window,
    )


def use(settings: Settings, given: str) -> Verified:
    """Verify a model and write it into config.toml as the one in use.

    Raises EngineUnavailable when it can't be used; then the configuration stays as it was.
    """
    verified = verify(settings, given)
    known = given == PACKAGED_NAME or given in _in_home(settings.home)
    config_file.set_value(settings.home, SETTING, given if known else verified.folder)
    return verified


def _with(settings: Settings, model: Model) -> Settings:
    """The settings with this model; an engine that is switched off may still verify it."""
    engine = "auto" if settings.embedding == "off" else settings.embedding
    return replace(settings, embedding=engine, model=str(model.folder))


def _in_home(home: Path) -> list[str]:
    found = sorted(path.parent.name for path in (home / MODELS).glob("*/modules.json"))
    return [name for name in found if name != PACKAGED_NAME]


def _same(name: str, other: str, home: Path) -> bool:
    if name == other:
        return True
    try:
        return find_model(name, home).folder.samefile(find_model(other, home).folder)
    except (EngineUnavailable, OSError):
        return False


def _entry(name: str, settings: Settings, *, in_use: bool) -> Entry:
    model: Model | None = None
    try:
        model = find_model(name, settings.home)
        return Entry(
            name=name,
            in_use=in_use,
            usable=True,
            pinned=model.pinned is not None,
            model=model.model_id,
            folder=str(model.folder),
            size_bytes=model.weights.stat().st_size,
        )
    except EngineUnavailable as error:
        return Entry(
            name=name,
            in_use=in_use,
            usable=False,
            pinned=model is not None and model.pinned is not None,
            folder=str(model.folder) if model else None,
            reason=str(error),
        )
