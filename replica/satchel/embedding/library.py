"""The models of this machine: which there are, which is in use, whether their weights are whole."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from satchel import config_file
from satchel.embedding import change, lacking, open_model, packs, places
from satchel.embedding.models import PACKAGED_NAME, Model, find_model
from satchel.embedding.standing import Standing
from satchel.errors import Conflict, EngineUnavailable, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.replica import Replica

SETTING = "embedding.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model by the name it is asked for. What is unknown of one that can't be used is None.

    `in_use`: questions are asked with it. `becoming`: it takes that one's place once it has
    vectors of every text. `configured`: the configuration names it. `pinned`: the SHA-256 of its
    weights is known beforehand, from its authors or from who packed it. `embedded`: texts that it
    has vectors of.
    """

    name: str
    in_use: bool = False
    becoming: bool = False
    configured: bool = False
    usable: bool = True
    pinned: bool = False
    model: str | None = None
    folder: str | None = None
    size_bytes: int | None = None
    embedded: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the vectors are: of `texts` memories and turns `left` have none of the target yet.

    The target is the model that is `becoming` the one in use, else the one in use.
    """

    in_use: str | None
    becoming: str | None
    texts: int
    left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A model whose weights were hashed just now and which an engine has opened.

    `pinned` tells whether the digest was compared with one known from its authors, or from who
    packed it.
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
    """The packaged model, those in <home>/models and of packs, and whatever has vectors here."""
    given = settings.model or PACKAGED_NAME
    names = places.named(settings.home)
    if not any(_same(name, given, settings) for name in names):
        names.append(given)
    with _opened(settings) as replica:
        standing = replica.standing() if replica else Standing()
        found = [_entry(name, settings) for name in names]
        found += [_of_id(one, settings) for one in _others(replica, standing, found)]
        return [_told(entry, settings, standing, replica) for entry in found]


def progress(replica: Replica) -> Progress:
    """Of the vectors of this replica, by a count of its texts."""
    standing = replica.standing()
    with replica.store.read() as db:
        texts = lacking.texts(db)
        left = lacking.count(db, standing.target) if standing.target else texts
    return Progress(in_use=standing.in_use, becoming=standing.becoming, texts=texts, left=left)


def standing_of(settings: Settings) -> Progress | None:
    """The same, where there is a replica."""
    with _opened(settings) as replica:
        return progress(replica) if replica else None


def embedder_in_use(settings: Settings) -> Embedder | None:
    """The engine that questions are asked with here, where that is not the configured one."""
    with _opened(settings) as replica:
        standing = replica.standing() if replica else Standing()
        if replica is None or standing.in_use in (None, _id_of(settings)):
            return None
        return replica.asked().embedder


def verify(settings: Settings, given: str | None) -> Verified:
    """Hash a model's files that have a known digest, and its weights, and open it.

    Without a name that is the configured model. Raises EngineUnavailable when they are not the
    published or packed ones, or no engine can run the model.
    """
    model = find_model(given or settings.model, settings.home)
    digest = model.verify()
    pack = packs.find(model.name) if model.pinned else None
    if pack is not None and pack.folder.resolve() == model.folder:
        packs.verify(pack)
    # An engine that is switched off may still verify it.
    engine = "auto" if settings.embedding == "off" else settings.embedding
    opened = open_model(replace(settings, embedding=engine), model)
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
    """Verify a model, write it into config.toml, and begin to change to it.

    Until it has vectors of every text, questions are asked with the one that was in use. Raises
    EngineUnavailable when it can't be used; then all stays as it was.
    """
    verified = verify(settings, given)
    before = _id_of(settings)
    known = given in places.named(settings.home)
    # The configuration first: a change that began without it would seem to be nobody's wish.
    config_file.set_value(settings.home, SETTING, given if known else verified.folder)
    with _opened(settings) as replica:
        if replica:
            with replica.store.write() as db:
                change.begin(db, verified.model, before)
    return verified


def want_configured(replica: Replica) -> None:
    """Begin to change to the configured model, where that is another than the one in use.

    Raises EngineUnavailable where it is not on this machine.
    """
    standing = replica.standing()
    wanted = replica.engines.configured().model_id
    if replica.settings.embedding != "off" and wanted not in (standing.in_use, standing.becoming):
        with replica.store.write() as db:
            change.begin(db, wanted, None)


def drop(replica: Replica, given: str) -> tuple[str, int]:
    """Delete all vectors of a model, which is told by its id or its name; its id, and how many.

    Raises NotFound, Conflict for a model that is in use or has two ids.
    """
    model_id = droppable(replica, given)
    return model_id, change.drop_all(replica, model_id)


def droppable(replica: Replica, given: str) -> str:
    """The id of a model whose vectors may go, told by its id or its name.

    Raises NotFound, Conflict for a model that is in use or has two ids.
    """
    standing = replica.standing()
    with replica.store.read() as db:
        known = lacking.models(db)
    found = [one for one in known if given in (one, one.rpartition("@")[0])]
    if not found:
        raise NotFound(
            f"there are no vectors of a model {given!r}",
            hint=f"there are of {', '.join(known)}" if known else "",
            field="model",
        )
    if len(found) > 1 or found[0] in (standing.in_use, standing.becoming):
        why = f"which of {', '.join(found)}?" if len(found) > 1 else f"{found[0]} is in use"
        raise Conflict(why, hint="`satchel model list` tells ids and which are used", field="model")
    return found[0]


@contextmanager
def _opened(settings: Settings) -> Iterator[Replica | None]:
    """The replica, where there is one: none is made to tell of it."""
    from satchel.replica import DATABASE_FILE, open_replica

    if not (settings.home / DATABASE_FILE).exists():
        yield None
        return
    with open_replica(settings) as replica:
        yield replica


def _same(name: str, other: str, settings: Settings) -> bool:
    if name == other:
        return True
    home = settings.home
    try:
        return find_model(name, home).folder.samefile(find_model(other, home).folder)
    except (EngineUnavailable, OSError):
        return False


def _id_of(settings: Settings) -> str | None:
    """The configured model, if it is here."""
    try:
        return find_model(settings.model, settings.home).model_id
    except EngineUnavailable:
        return None


def _others(replica: Replica | None, standing: Standing, found: list[Entry]) -> list[str]:
    """Ids that this replica knows and that no name stands for."""
    ids = [one for one in (standing.in_use, standing.becoming) if one]
    if replica:
        with replica.store.read() as db:
            ids += lacking.models(db)
    told = {entry.model for entry in found}
    return [one for one in dict.fromkeys(ids) if one not in told]


def _of_id(model_id: str, settings: Settings) -> Entry:
    try:
        model = places.locate(model_id, settings)
        return _whole(str(model.folder), model)
    except EngineUnavailable as error:
        name = model_id.rpartition("@")[0]
        return Entry(name=name, usable=False, model=model_id, reason=str(error))


def _entry(name: str, settings: Settings) -> Entry:
    model: Model | None = None
    try:
        model = find_model(name, settings.home)
        return _whole(name, model)
    except EngineUnavailable as error:
        return Entry(
            name=name,
            usable=False,
            pinned=model is not None and model.pinned is not None,
            folder=str(model.folder) if model else None,
            reason=str(error),
        )


def _whole(name: str, model: Model) -> Entry:
    return Entry(
        name=name,
        pinned=model.pinned is not None,
        model=model.model_id,
        folder=str(model.folder),
        size_bytes=model.weights.stat().st_size,
    )


def _told(entry: Entry, settings: Settings, standing: Standing, replica: Replica | None) -> Entry:
    """With what is known of it: its place, and how many texts have vectors of it."""
    configured = _same(entry.name, settings.model or PACKAGED_NAME, settings)
    in_use = configured if standing.in_use is None else entry.model == standing.in_use
    embedded = None
    if replica and entry.model:
        with replica.store.read() as db:
            embedded = lacking.texts(db) - lacking.count(db, entry.model)
    return replace(
        entry,
        in_use=in_use,
        becoming=entry.model is not None and entry.model == standing.becoming,
        configured=configured,
        embedded=embedded,
    )
