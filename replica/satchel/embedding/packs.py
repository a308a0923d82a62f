"""Model packs: wheels that bring a model folder, found by their entry point `satchel.models`.

The entry point's name is the model's, its value the package that holds `model/` and `pack.json`.
Nothing of a pack is ever imported: its files are read where they lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from satchel import plain_file
from satchel.errors import EngineUnavailable
from satchel_crypto import content_sha256

GROUP = "satchel.models"
"""The group of entry points."""
FOLDER = "model"
MANIFEST = "pack.json"
FORMAT = 1
"""The version of `pack.json`."""
_PLAIN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """An installed pack; `sha256` is what the weights were when it was made, `files` what each."""

    name: str
    folder: Path
    sha256: str
    files: Mapping[str, str]


def module_of(name: str) -> str:
    """The package that a pack of this model is by our own packer."""
    return f"satchel_model_{_PLAIN.sub('_', name.lower()).strip('_')}"


def find(name: str) -> Pack | None:
    """The installed pack of this model, or None. Raises EngineUnavailable for a broken one."""
    # By our own naming first: to read all entry points takes longer than a search.
    found = own(name)
    if found is None and (module := _entry_points().get(name)):
        found = _read(module)
        if found is not None and found.name != name:
            raise _unusable(name, f"{MANIFEST} is of {found.name!r}")
    return found


def own(name: str) -> Pack | None:
    """The installed pack of this model that our own packer made, or None."""
    found = _read(module_of(name))
    return found if found is not None and found.name == name else None


def names() -> list[str]:
    """Models of all installed packs."""
    return sorted(_entry_points())


def manifest(name: str, sha256: str, files: Mapping[str, str]) -> str:
    """The text of `pack.json`: path in the folder -> SHA-256 of every file."""
    told = {"format": FORMAT, "name": name, "sha256": sha256, "files": dict(files)}
    return json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def verify(pack: Pack) -> None:
    """Hash every file of a pack. Raises EngineUnavailable that names the first that differs."""
    for path, digest in pack.files.items():
        try:
            same = content_sha256(pack.folder / path) == digest
        except OSError as error:
            raise _unusable(pack.name, f"{path}: {error.strerror or error}") from error
        if not same:
            raise _unusable(pack.name, f"{path} is not the file that was packed")


def _entry_points() -> dict[str, str]:
    from importlib.metadata import entry_points

    return {one.name: one.value for one in entry_points(group=GROUP)}


def _read(module: str) -> Pack | None:
    place = _place(module)
    if place is None:
        return None
    try:
        said = json.loads(plain_file.read_bytes(place / MANIFEST))
        known = int(said["format"]) <= FORMAT
        name, sha256, files = str(said["name"]), str(said["sha256"]), _files(said["files"])
    except (OSError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _unusable(module, f"{MANIFEST}: {error}") from error
    if not known:
        raise _unusable(module, f"{MANIFEST} is of a newer satchel")
    return Pack(name=name, folder=place / FOLDER, sha256=sha256, files=files)


def _files(said: Any) -> dict[str, str]:
    """Path in the folder -> SHA-256. Raises ValueError for a path that leads out of it."""
    files = {str(path): str(digest) for path, digest in dict(said).items()}
    for path in files:
        if path.startswith("/") or ".." in path.split("/") or set(path) & {"\\", ":", "\0"}:
            raise ValueError(f"{path!r} leads out of the folder")
    return files


def _unusable(name: str, why: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"the model pack {name} can't be used: {why}",
        hint="install the pack again: `pip install --force-reinstall --no-index` and its wheel,"
        " or the kit that brought it",
        field="embedding.model",
    )


def _place(module: str) -> Path | None:
    """A package's folder, found without importing it; only a top package is looked for."""
    if not module.isidentifier():
        return None
    try:
        spec = find_spec(module)
    except (ImportError, ValueError) as error:  # `__main__` is a module without a spec
        raise _unusable(module, str(error)) from error
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None
