"""A model folder is data: no library is given one that could make it run what is in it.

A stand-in takes the place of sentence-transformers, which is not installed: it keeps what it was
asked for. What the real one runs is told in no_code.py.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_memory import settings
from fix_models import small_folder

from satchel.embedding import library, sentence_transformers
from satchel.embedding.models import find_model
from satchel.errors import EngineUnavailable

STAND_IN = """
asked = []

class SentenceTransformer:
    def __init__(self, folder, **options):
        asked.append((folder, options))
        raise ValueError("a stand-in opens nothing")
"""
LIBRARY = "sentence_transformers.models."


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """What the library is asked for."""
    modules = {"sentence_transformers": STAND_IN,
               "safetensors": "class SafetensorError(Exception): pass"}  # fmt: skip
    for name, text in modules.items():
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in modules:  # so that both are forgotten afterwards
        monkeypatch.setitem(sys.modules, name, importlib.import_module(name))
    found: list[tuple[str, dict[str, Any]]] = sys.modules["sentence_transformers"].asked
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_folder("bert-mean"), tmp_path / "model"))


def put(name: str, said: object) -> Callable[[Path], object]:
    """Write a file of the folder."""

    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(said))

    return write


def step(kind: str, path: str = "1_Step") -> Callable[[Path], object]:
    first = {"idx": 0, "name": "0", "path": "", "type": f"{LIBRARY}Transformer"}
    return put("modules.json", [first, {"idx": 1, "name": "1", "path": path, "type": kind}])


def pickled(path: str, *, only: bool) -> Callable[[Path], object]:
    def spoil(folder: Path) -> None:
        (folder / path).write_bytes(b"\x80\x04.")
        if only:
            (folder / path).with_name("model.safetensors").unlink(missing_ok=True)

    return spoil


def around(folder: Path) -> None:
    (folder / "a").symlink_to(folder, target_is_directory=True)
    put("router_config.json", {"types": {"a": f"{LIBRARY}Router"}})(folder)


REFUSED: dict[str, tuple[tuple[Callable[[Path], object], ...], str]] = {
    "a module of the folder": ((step("custom_st.Pooling"),), "'custom_st.Pooling'"),
    "one of the machine": ((step("os.system"),), "'os.system'"),
    "a name that begins alike": ((step("sentence_transformers_evil.X"),), "_evil"),
    "no name": ((put("modules.json", [{"path": ""}]),), "''"),
    "a step elsewhere": ((step(f"{LIBRARY}Dense", "../other"),), "leads out"),
    "a step at the root": ((step(f"{LIBRARY}Dense", "/etc"),), "leads out"),
    "a step behind a NUL": ((step(f"{LIBRARY}Dense", "a\0b"),), "leads out"),
    "auto_map": ((put("config.json", {"auto_map": {"AutoModel": "code.Model"}}),), "auto_map"),
    "auto_map of the tokenizer": (
        (put("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["code.T", None]}}),),
        "auto_map",
    ),
    "a library of an adapter": (
        (put("adapter_config.json", {"auto_mapping": {"parent_library": "evil"}}),),
        "auto_mapping",
    ),
    "an activation": (
        (step(f"{LIBRARY}Dense"), put("1_Step/config.json", {"activation_function": "os.abort"})),
        "'os.abort'",
    ),
    "in a router": (
        (step(f"{LIBRARY}Router"), put("1_Step/router_config.json", {"types": {"q": "evil.Q"}})),
        "'evil.Q'",
    ),
    "in a router's step": (
        (step(f"{LIBRARY}Router"),
         put("1_Step/router_config.json", {"types": {"q": f"{LIBRARY}Dense"}}),
         put("1_Step/q/config.json", {"activation_function": "evil.Q"})),
        "'evil.Q'",
    ),
    "steps in a circle": ((around,), "without an end"),
    "pickled weights": ((pickled("pytorch_model.bin", only=True),), "pytorch_model.bin is pickled"),
    "a pickled step": (
        (pickled("1_Pooling/pytorch_model.bin", only=False),),
        "1_Pooling/pytorch_model.bin is pickled",
    ),
    "a pickled step beside other safetensors": (
        (pickled("1_Pooling/pytorch_model.bin", only=False),
         put("1_Pooling/decoy.safetensors", "")),
        "is pickled",
    ),
    "a pickled adapter": ((pickled("adapter_model.bin", only=False),), "is pickled"),
    "deep": ((lambda folder: (folder / "config.json").write_text("[" * 200_000),), "config.json"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_run_is_not_given_to_the_library(
    folder: Path, asked: list[tuple[str, dict[str, Any]]], what: str
) -> None:
    spoils, words = REFUSED[what]
    for spoil in spoils:
        spoil(folder)
    with pytest.raises(EngineUnavailable, match=words):
        sentence_transformers.load(find_model(str(folder)))
    assert asked == []


TAKEN: dict[str, tuple[Callable[[Path], object], ...]] = {
    "as it is": (),
    "a dense layer": (
        step(f"{LIBRARY}Dense"),
        put("1_Step/config.json", {"activation_function": "torch.nn.modules.activation.Tanh"}),
    ),
    "an activation of transformers": (put("config.json", {"activation_function": "gelu_new"}),),
    "pickled ones beside": (
        pickled("pytorch_model.bin", only=False),
        pickled("training_args.bin", only=False),
    ),
    "without steps": (lambda folder: (folder / "modules.json").unlink(),),
}


@pytest.mark.parametrize("what", TAKEN)
def test_any_other_is_opened_without_trust(
    folder: Path, asked: list[tuple[str, dict[str, Any]]], what: str
) -> None:
    for change in TAKEN[what]:
        change(folder)
    with pytest.raises(EngineUnavailable, match="a stand-in opens nothing"):
        sentence_transformers.load(find_model(str(folder)))
    ((given, options),) = asked
    assert given == str(folder)
    assert options["trust_remote_code"] is False
    assert options["local_files_only"] is True
    assert options["model_kwargs"] == {"use_safetensors": True}


def test_nobody_comes_to_it_another_way(
    tmp_path: Path, folder: Path, asked: list[tuple[str, dict[str, Any]]]
) -> None:
    """`auto` takes the library where the Rust core refuses a folder: `satchel model verify|use`."""
    step("custom_st.Pooling")(folder)
    (folder / "custom_st.py").write_text("raise SystemExit('it was run')")
    here = settings(tmp_path / "home", embedding="auto")
    for take in (library.verify, library.use):
        with pytest.raises(EngineUnavailable, match="custom_st"):
            take(here, str(folder))
    assert asked == []
    assert not (tmp_path / "home" / "config.toml").exists()
