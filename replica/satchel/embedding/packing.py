"""Packing a model: a folder becomes a wheel that pip installs without a network (packs.py)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.embedding import library, licences, packs
from satchel.embedding.models import find_model
from satchel.embedding.no_code import PICKLED
from satchel.embedding.wheel import Wheel
from satchel.errors import EngineUnavailable, InvalidInput, OutputFailed, Refused
from satchel_crypto import content_sha256

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.embedding.library import Verified
    from satchel.embedding.licences import Licence

VERSION = "1.0+w{}"
"""The first digits of the weights' hash are part of it: other weights are another release."""
KEPT = (".json", ".md", ".model", ".safetensors", ".txt")
"""Weights, tokenizers, settings and words. No code: what a model brings of it is never run."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A wheel that was made. `left_out` are files of the folder that no engine reads."""

    wheel: str
    wheel_sha256: str
    size_bytes: int
    name: str
    model: str
    sha256: str
    licence: str
    left_out: list[str]


def pack(
    settings: Settings,
    given: str,
    out: Path,
    *,
    name: str | None = None,
    licence: str | None = None,
) -> Packed:
    """Open a model, hash its files, and write the wheel into the folder `out`.

    `name` is what the model is to be called, else as its folder; `licence` an SPDX expression,
    where the folder does not tell it. Raises EngineUnavailable for a folder that no engine opens,
    Refused for pickled weights or an unknown licence, InvalidInput for a name, OutputFailed.
    """
    folder = find_model(given, settings.home).folder
    files, left_out = _chosen(folder)
    verified = library.verify(settings, given)
    called = _checked_name(name or verified.name)
    allowed = licences.of(folder, licence)
    hashes = {path: content_sha256(folder / path) for path in files}
    if verified.sha256 not in hashes.values():
        raise EngineUnavailable(f"the weights in {folder} changed while they were packed")
    wheel = _wheel(called, verified, allowed, folder, hashes)
    try:
        target = wheel.write(out)
    except OSError as error:
        raise OutputFailed(
            f"no wheel could be written into {out}: {error.strerror or error}",
            hint="free some disk space, or name another folder with `--out`",
        ) from error
    return Packed(
        wheel=str(target),
        wheel_sha256=content_sha256(target),
        size_bytes=target.stat().st_size,
        name=called,
        model=f"{called}@{verified.sha256[:12]}",
        sha256=verified.sha256,
        licence=allowed.expression or ", ".join(path.name for path in allowed.files),
        left_out=left_out,
    )


def _chosen(folder: Path) -> tuple[list[str], list[str]]:
    """The files to pack and those to leave out, as paths in the folder. Raises Refused."""
    places = [folder, *(folder / name for name in _modules(folder))]
    files = sorted({path for place in places for path in place.glob("*") if path.is_file()})
    inside = [path for path in files if _stays(path, folder)]
    kept = [path for path in inside if path.suffix in KEPT or _is_licence(path)]
    has_safe = {path.parent for path in kept if path.suffix == ".safetensors"}
    for path in files:
        if path.suffix == ".safetensors" and path not in inside:
            raise Refused(
                f"{path.relative_to(folder).as_posix()} is a link that leads out of the folder",
                hint="copy the model's own files into one folder",
                field="embedding.model",
            )
        if path.suffix in PICKLED and path.parent not in has_safe:
            raise Refused(
                f"{path.relative_to(folder).as_posix()} is pickled: whoever loads it runs what"
                " is in it",
                hint="get the model as safetensors, or convert it where you trust it",
                field="embedding.model",
            )
    everything = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    }
    packed = [path.relative_to(folder).as_posix() for path in kept]
    return packed, sorted(everything.difference(packed))


def _stays(path: Path, folder: Path) -> bool:
    """Whether it is a file of this model: no link to what else lies on the machine.

    A cache of models as Hugging Face's libraries keep it links to its own `blobs`.
    """
    home = folder.resolve()
    target = path.resolve()
    return any(target.is_relative_to(place) for place in (home, home.parent.parent / "blobs"))


def _modules(folder: Path) -> list[str]:
    """Folders of the model's later steps (pooling, a dense layer), as `modules.json` names them."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        found = [str(one["path"]) for one in json.loads(path.read_bytes())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineUnavailable(
            f"the model folder {folder} can't be used: {path.name}: {error}",
            hint="get the model folder again",
        ) from error
    return [name for name in found if name and "/" not in name and name not in (".", "..")]


def _is_licence(path: Path) -> bool:
    return any(path.match(pattern) for pattern in licences.FILES)


def _checked_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    raise InvalidInput(
        f"{name!r} can't be the name of a pack: letters, digits, `.`, `-` and `_` only",
        hint="`--name` gives it another one",
        field="name",
    )


def _wheel(
    called: str, verified: Verified, licence: Licence, folder: Path, hashes: dict[str, str]
) -> Wheel:
    module = packs.module_of(called)
    manifest = packs.manifest(called, verified.sha256, hashes)
    wheel = Wheel(name=module, version=VERSION.format(verified.sha256[:12]))
    said = f'"""The embedding model {called}: files, no code."""\n'
    wheel.add_text(f"{module}/__init__.py", said)
    wheel.add_text(f"{module}/{packs.MANIFEST}", manifest)
    for path, digest in hashes.items():
        wheel.add_file(f"{module}/{packs.FOLDER}/{path}", folder / path, digest)
    for file in licence.files:
        wheel.add_licence(file, hashes[file.name])
    wheel.describe(
        summary=f"The embedding model {called} as files, for satchel",
        licence=licence.expression,
        entry_points={packs.GROUP: {called: module}},
    )
    return wheel
