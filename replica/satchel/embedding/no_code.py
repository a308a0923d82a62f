"""What a model folder may not bring to a library that would run it: code, named or pickled.

sentence-transformers takes the names of classes from the folder's configuration, version 5 from
modules that lie in the folder as well; torch unpickles weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from satchel.embedding.models import read_json, unusable

PICKLED = (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth")
"""Formats whose reading may run what somebody put into them."""
_LISTINGS = ("modules.json", "router_config.json", "config.json")
"""Files that name the steps of a model, or those inside a step."""
_STEP = re.compile(r"sentence_transformers(\.\w+)+")
_PART = re.compile(r"(sentence_transformers|torch\.nn)(\.\w+)+")
_PARTS = ("activation_fn", "activation_function", "tokenizer_class")
"""Settings that name a class to call, with a dot where it is not one of transformers' own."""
_CODE = ("auto_map", "auto_mapping")
"""Settings by which a folder brings classes of its own, or names a library to import."""
_DEPTH_MAX = 4


def require_no_code(folder: Path) -> None:
    """Raises EngineUnavailable where opening a model's folder could run what is in it."""
    _require(folder, folder)


def _require(folder: Path, place: Path) -> None:
    """The same of one step of the model, and of those in it; the folder itself has all of them."""
    _require_unpickled(folder, place)
    for path in sorted(place.glob("*config*.json")):
        _require_plain(folder, path)
    for name, kind in (one for listing in _LISTINGS for one in _steps(read_json(place / listing))):
        if not _STEP.fullmatch(kind):
            raise unusable(folder, f"it names the code {kind!r} for a step: that is not run")
        step = PurePosixPath(name)
        if step.is_absolute() or {"..", "\\", ":", "\0"} & {*step.parts, *name}:
            raise unusable(folder, f"the step {name!r} leads out of it")
        if len(place.relative_to(folder).parts) == _DEPTH_MAX:
            raise unusable(folder, "it has steps in steps without an end")
        if step.parts:
            _require(folder, place / step)


def _steps(found: object) -> Iterator[tuple[str, str]]:
    """(folder, class) of each step: a list in modules.json, `types` in the file of a router."""
    if isinstance(found, list):
        for one in found:
            said = one if isinstance(one, Mapping) else {}
            yield str(said.get("path", "")), str(said.get("type", ""))
    elif isinstance(found, Mapping) and isinstance(types := found.get("types"), Mapping):
        yield from ((str(name), str(kind)) for name, kind in types.items())


def _require_plain(folder: Path, path: Path) -> None:
    said = read_json(path)
    if not isinstance(said, Mapping):
        return
    for name in _CODE:
        if said.get(name):
            raise unusable(folder, f"{path.name} has {name}: code that it brings is not run")
    for name in _PARTS:
        part = said.get(name)
        if isinstance(part, str) and "." in part and not _PART.fullmatch(part):
            raise unusable(folder, f"{path.name} names the code {part!r}: that is not run")


def _require_unpickled(folder: Path, place: Path) -> None:
    for path in sorted(place.glob("*")):
        # Where both are there, safetensors are taken.
        safe = f"{path.stem if path.name.startswith('adapter_') else 'model'}.safetensors"
        if path.suffix in PICKLED and not (place / safe).is_file():
            name = path.relative_to(folder).as_posix()
            raise unusable(folder, f"{name} is pickled: whoever loads it runs what is in it")
