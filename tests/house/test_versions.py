"""One version: replica/satchel/__init__.py says it, and everything else that names it agrees."""

import re
import tomllib
from pathlib import Path
from typing import Any

import satchel

ROOT = Path(__file__).parents[2]
VERSION = satchel.__version__


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text("utf-8"))


def test_it_is_written_alike_for_cargo_and_for_pip() -> None:
    """1.2.3: what comes behind it (rc1, -rc.1) the two write differently."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_python_takes_it_from_one_file() -> None:
    made = read("pyproject.toml")
    assert "version" in made["project"]["dynamic"]
    said = ROOT / made["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{VERSION}"' in said.read_text("utf-8")


def test_the_extra_brings_the_native_core_of_the_same_version() -> None:
    extra = read("pyproject.toml")["project"]["optional-dependencies"]["native"]
    assert extra == [f"satchel-native=={VERSION}"]


def test_the_crates_follow() -> None:
    assert read("native/Cargo.toml")["workspace"]["package"]["version"] == VERSION
    for manifest in (ROOT / "native" / "crates").glob("*/Cargo.toml"):
        assert tomllib.loads(manifest.read_text("utf-8"))["package"]["version"] == {
            "workspace": True
        }
    locked = read("native/Cargo.lock")["package"]
    ours = {one["name"]: one["version"] for one in locked if one["name"].startswith("satchel-")}
    assert set(ours.values()) == {VERSION}
    assert "version" in read("native/pyproject.toml")["project"]["dynamic"]


def test_the_changelog_begins_with_it() -> None:
    [newest, *_] = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest == VERSION
