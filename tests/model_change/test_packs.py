"""Model packs: a folder becomes a wheel, pip installs it without a network, satchel finds it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_memory import settings
from fix_models import small_folder

from satchel.config import Settings
from satchel.embedding import library, packs
from satchel.embedding.models import find_model
from satchel.embedding.packing import Packed, pack
from satchel.embedding.places import locate
from satchel.errors import EngineUnavailable, InvalidInput, Refused, SatchelError

NAME = "Bert-Mean"


def copied(to: Path, name: str = "bert-mean") -> Path:
    return Path(shutil.copytree(small_folder(name), to))


def packed(folder: Path, out: Path, **said: str | None) -> Packed:
    given = {"licence": "MIT", **said}
    return pack(home_in(out.parent), str(folder), out, **given)


def home_in(folder: Path) -> Settings:
    """Of a home that is there: else hashes are remembered in the user's cache."""
    (folder / "home").mkdir(exist_ok=True)
    return settings(folder / "home")


def installed(wheel: Path | str, target: Path) -> None:
    """As pip does it on a machine without a network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-compile"]
    command += ["--disable-pip-version-check", "--target", str(target), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_packed_installed_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(tmp_path / NAME)
    (folder / "LICENSE").write_text("do what you like")
    (folder / "pytorch_model.bin").write_text("not packed: the weights are here as safetensors")
    (folder / "run_me.py").write_text("raise SystemExit('a model brings no code')")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_text("another engine's")
    made = packed(folder, tmp_path / "out")
    assert made.left_out == ["onnx/model.onnx", "pytorch_model.bin", "run_me.py"]
    assert made.model == find_model(str(folder), tmp_path).model_id

    site = tmp_path / "site"
    installed(made.wheel, site)
    monkeypatch.syspath_prepend(str(site))
    shutil.rmtree(folder)
    home = home_in(tmp_path)
    model = find_model(NAME, home.home)
    assert (model.model_id, model.pinned) == (made.model, made.sha256)
    assert model.folder.is_relative_to(site)
    assert packs.names() == [NAME]
    assert library.verify(home, NAME).pinned
    assert NAME in {one.name for one in library.entries(home)}
    assert locate(made.model, home).folder == model.folder
    assert library.use(home, NAME).name == NAME
    assert f'model = "{NAME}"' in (home.home / "config.toml").read_text("utf-8")

    tokenizer = model.folder / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    with pytest.raises(EngineUnavailable, match=r"tokenizer\.json is not the file that was packed"):
        library.verify(home, NAME)
    (model.folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(EngineUnavailable, match=r"1_Pooling/config\.json: No such file"):
        library.verify(home, NAME)
    weights = model.folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"abcd")
    with pytest.raises(EngineUnavailable, match="is not the published file"):
        _ = find_model(NAME, home.home).model_id


def test_the_wheel_is_as_the_specification_has_it(tmp_path: Path) -> None:
    made = packed(copied(tmp_path / NAME), tmp_path / "out")
    with zipfile.ZipFile(made.wheel) as wheel:
        names = wheel.namelist()
        (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        lines = [line.rsplit(",", 2) for line in wheel.read(record).decode().splitlines()]
        assert sorted(line[0] for line in lines) == sorted(names)
        for name, digest, size in lines:
            content = wheel.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert [digest, size] == (
                ["", ""] if name == record else [f"sha256={found.decode()}", str(len(content))]
            )
        info = record.removesuffix("RECORD")
        assert "License-Expression: MIT\n" in wheel.read(f"{info}METADATA").decode()
        entry_points = wheel.read(f"{info}entry_points.txt").decode()
        assert entry_points == f"[satchel.models]\n{NAME} = satchel_model_bert_mean\n"
        manifest = json.loads(wheel.read("satchel_model_bert_mean/pack.json"))
        weights = wheel.read("satchel_model_bert_mean/model/model.safetensors")
    assert manifest["sha256"] == hashlib.sha256(weights).hexdigest() == made.sha256
    assert Path(made.wheel).name.startswith(f"satchel_model_bert_mean-1.0+w{made.sha256[:12]}-")
    assert oct(Path(made.wheel).stat().st_mode & 0o777) == "0o644"


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    one = packed(copied(tmp_path / NAME), tmp_path / "one")
    again = copied(tmp_path / "again" / NAME)
    for path in again.rglob("*"):
        os.utime(path, (1, 1))
    (again / "config.json").chmod(0o600)
    assert packed(again, tmp_path / "two").wheel_sha256 == one.wheel_sha256
    assert packed(again, tmp_path / "two").wheel_sha256 == one.wheel_sha256, "written over"
    assert list((tmp_path / "two").iterdir()) == [tmp_path / "two" / Path(one.wheel).name]


def _only_pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _pickled_step(folder: Path) -> None:
    (folder / "1_Pooling" / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def _cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])


def _without_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _broken_modules(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"idx": 0}]')


def _climbing_modules(folder: Path) -> None:
    (folder.parent / "secret.json").write_text("{}")
    told = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*told, {"path": ".."}, {"path": "/etc"}]))


BROKEN: dict[str, tuple[Callable[[Path], None], type[SatchelError], str]] = {
    "pickled": (_only_pickled, Refused, "pytorch_model.bin is pickled"),
    "a pickled step": (_pickled_step, Refused, "1_Pooling/pytorch_model.bin is pickled"),
    "cut": (_cut, EngineUnavailable, "can't be used"),
    "no config": (_without_config, EngineUnavailable, "no config.json"),
    "modules": (_broken_modules, EngineUnavailable, "modules.json"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, what: str) -> None:
    spoil, error, words = BROKEN[what]
    folder = copied(tmp_path / NAME)
    spoil(folder)
    with pytest.raises(error, match=words):
        packed(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_file_outside_the_folder_is_packed(tmp_path: Path) -> None:
    folder = copied(tmp_path / NAME)
    _climbing_modules(folder)
    try:
        made = packed(folder, tmp_path / "out")
    except EngineUnavailable:
        return  # no engine opens it
    with zipfile.ZipFile(made.wheel) as wheel:
        assert not [name for name in wheel.namelist() if "secret" in name or ".." in name]


def test_a_link_is_followed_only_to_what_is_the_models_own(tmp_path: Path) -> None:
    folder = copied(tmp_path / "cache" / "snapshots" / NAME)
    (blobs := tmp_path / "cache" / "blobs").mkdir()
    (tmp_path / "private.txt").write_text("secret")
    (folder / "notes.txt").symlink_to(tmp_path / "private.txt")
    (folder / "config.json").rename(blobs / "abc")
    (folder / "config.json").symlink_to(blobs / "abc")
    made = packed(folder, tmp_path / "out")
    assert "notes.txt" in made.left_out
    with zipfile.ZipFile(made.wheel) as wheel:
        names = {name.rpartition("/")[2] for name in wheel.namelist()}
    assert "config.json" in names
    assert "notes.txt" not in names
    (folder / "model.safetensors").rename(tmp_path / "elsewhere")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match=r"model\.safetensors is a link that leads out"):
        packed(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ({"licence": None}, Refused, "tells the model's licence"),
        ({"licence": "do what\nyou like"}, InvalidInput, "no SPDX expression"),
        ({"name": "../x"}, InvalidInput, "can't be the name of a pack"),
        ({"name": "-x"}, InvalidInput, "can't be the name of a pack"),
        ({"name": "a\nb"}, InvalidInput, "can't be the name of a pack"),
        ({"name": "ä"}, InvalidInput, "can't be the name of a pack"),
        ({"name": "x" * 101}, InvalidInput, "can't be the name of a pack"),
    ],
)
def test_what_is_said_of_it_is_checked(
    tmp_path: Path, said: dict[str, str | None], error: type[SatchelError], words: str
) -> None:
    with pytest.raises(error, match=words):
        packed(copied(tmp_path / NAME), tmp_path / "out", **said)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\ntags: [x]\n---\n# Model", "Apache-2.0"),
        ('---\nlicense: "mit"\n---\n', "MIT"),
        ("# Model\nlicense: mit", None),
        ("---\nlicense: other\n---\n", None),
    ],
)
def test_the_card_tells_the_licence(tmp_path: Path, card: str, licence: str | None) -> None:
    folder = copied(tmp_path / NAME)
    (folder / "README.md").write_text(card)
    if licence is None:
        with pytest.raises(Refused, match="licence"):
            packed(folder, tmp_path / "out", licence=None)
    else:
        assert packed(folder, tmp_path / "out", licence=None).licence == licence


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "pack.json"),
        ("[]", "pack.json"),
        ('{"format": 2, "name": "mine", "sha256": "", "files": {}}', "newer satchel"),
        ('{"format": 1, "name": "mine"}', "pack.json"),
        ('{"format": Infinity, "name": "mine", "sha256": "", "files": {}}', "pack.json"),
        ('{"format": 1, "name": "mine", "sha256": "", "files": {"../x": ""}}', "leads out"),
        ('{"format": 1, "name": "mine", "sha256": "", "files": {"a\\u0000b": ""}}', "leads out"),
        pytest.param("[" * 200_000, "pack.json", id="deep"),
    ],
)
def test_a_broken_pack_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    place = tmp_path / "site" / "satchel_model_mine"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("raise SystemExit('a pack is never imported')")
    (place / "pack.json").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with pytest.raises(EngineUnavailable, match=words):
        find_model("mine", tmp_path)


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ("__main__", "", "can't be used"),
        ("mod_of_it", "{", "pack.json"),
        ("mod_of_it", '{"format": Infinity}', "pack.json"),
        ("mod_of_it", "[" * 200_000, "pack.json"),
        ("mod_of_it", '{"format": 1, "name": "../x", "sha256": "", "files": {}}', "'../x'"),
        ("mod_of_it:thing", "{}", "neither a folder nor a known name"),
    ],
    ids=range(6),
)
def test_the_other_models_are_listed_beside_a_broken_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, text: str, reason: str
) -> None:
    site = tmp_path / "site"
    (site / "broken-1.dist-info").mkdir(parents=True)
    (site / "broken-1.dist-info/METADATA").write_text("Name: broken\nVersion: 1\n")
    (site / "broken-1.dist-info/entry_points.txt").write_text(f"[satchel.models]\nbad = {value}\n")
    (site / "mod_of_it").mkdir()
    (site / "mod_of_it/pack.json").write_text(text)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as of `satchel` itself
    here = home_in(tmp_path)
    shutil.copytree(small_folder("bert-mean"), here.home / "models" / "good")
    listed = {one.name: one for one in library.entries(here)}
    assert listed["good"].usable
    assert not listed["bad"].usable
    assert reason in listed["bad"].reason
