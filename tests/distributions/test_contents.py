"""A wheel holds what it should, whole, nothing else, and says nothing of where it was built."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from base64 import urlsafe_b64encode
from email.message import Message
from email.parser import BytesParser
from hashlib import sha256
from pathlib import Path

import pytest
from fix_wheels import files_of

import satchel
import wheels

ROOT = Path(__file__).parents[2]
FOLDERS = ("replica", "sync", "warehouse", "crypto")
KINDS = {".py", ".sql", ".typed", ".md", ".html", ".css", ".js", ".lock", ".rs", ".toml"}
"""What the packages are made of; whatever else lies in them was forgotten there."""
PURE_INFO = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
NATIVE = {"__init__.py", "_core.pyi", "py.typed"}
NATIVE_INFO = {"METADATA", "RECORD", "WHEEL", "licenses/CRATES.txt", "licenses/LICENSE"}
INFO = re.compile(r"^[a-z_]+-[0-9.]+\.dist-info/")


def info_of(files: dict[str, bytes]) -> dict[str, bytes]:
    return {INFO.sub("", name): data for name, data in files.items() if INFO.match(name)}


def metadata_of(files: dict[str, bytes]) -> Message:
    return BytesParser().parsebytes(info_of(files)["METADATA"])


def text_of(metadata: Message) -> str:
    """What an index would show as the page of the project."""
    payload = metadata.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode("utf-8")


def test_satchel_is_its_four_packages_and_nothing_else(pure_wheel: Path) -> None:
    files = files_of(pure_wheel)
    expected = {
        file.relative_to(ROOT / folder).as_posix()
        for folder in FOLDERS
        for file in (ROOT / folder).glob("satchel*/**/*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in files if not INFO.match(name)} == expected
    assert {Path(name).suffix for name in expected} <= KINDS
    assert set(info_of(files)) == PURE_INFO
    assert {f"{package}/py.typed" for package in {name.split("/")[0] for name in expected}} <= (
        expected
    )
    assert b"Root-Is-Purelib: true" in info_of(files)["WHEEL"]
    assert info_of(files)["entry_points.txt"].decode().split() == [
        *("[console_scripts]", "satchel", "=", "satchel.cli.main:run")
    ]


def test_satchel_says_what_it_is(pure_wheel: Path) -> None:
    said = metadata_of(files_of(pure_wheel))
    assert (said["Name"], said["Version"]) == ("satchel", satchel.__version__)
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == ">=3.11"
    assert said["Description-Content-Type"] == "text/markdown"
    assert text_of(said).strip() == (ROOT / "README.md").read_text("utf-8").strip()
    native = f"satchel-native=={satchel.__version__}; extra == 'native'"
    assert native in said.get_all("Requires-Dist", [])


def test_satchel_native_is_one_library_for_every_python(native_wheel: Path) -> None:
    files = files_of(native_wheel)
    [library] = (name for name in files if name.startswith("satchel_native/_core.abi3."))
    assert set(files) - {library} == {f"satchel_native/{name}" for name in NATIVE} | {
        name for name in files if INFO.match(name)
    }
    assert {name for name in info_of(files) if "sboms/" not in name} == NATIVE_INFO
    assert re.search(r"-cp311-abi3-(manylinux_2_\d+|macosx|win)_?\w+\.whl$", native_wheel.name)
    for name in NATIVE:
        assert files[f"satchel_native/{name}"] == (
            (ROOT / "native" / "python" / "satchel_native" / name).read_bytes()
        )
    said = metadata_of(files)
    assert (said["Name"], said["Version"]) == ("satchel-native", satchel.__version__)
    assert said.get_all("License-File") == ["LICENSE", "CRATES.txt"]
    assert "# native" in text_of(said)


def test_the_crates_in_it_are_told_with_their_licences(native_wheel: Path) -> None:
    info = info_of(files_of(native_wheel))
    [bill] = (json.loads(data) for name, data in info.items() if "sboms/" in name)
    assert bill["bomFormat"] == "CycloneDX"
    told = info["licenses/CRATES.txt"].decode()
    for crate in bill["components"]:
        if not crate["name"].startswith("satchel-"):
            assert re.search(rf"^{crate['name']} {re.escape(crate['version'])}: \S", told, re.M)
    for text in ("Permission is hereby granted", "Apache License", "tokenizers", "pyo3"):
        assert text in told


@pytest.mark.parametrize("built", ["pure_wheel", "native_wheel"])
def test_the_record_is_true_and_no_folder_of_this_machine_is_told(
    request: pytest.FixtureRequest, built: str
) -> None:
    files = files_of(request.getfixturevalue(built))
    record = info_of(files)["RECORD"].decode()
    rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(record))}
    assert rows.keys() == files.keys()
    for name, data in files.items():
        digest = urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
        itself = name.endswith(".dist-info/RECORD")
        assert rows[name] == (("", "") if itself else (f"sha256={digest}", str(len(data))))
        for folder in (ROOT, Path(sys.prefix), Path.home() / ".cargo", Path.home() / ".pyenv"):
            assert str(folder).encode() not in data, f"{name} tells {folder}"


def test_the_same_sources_elsewhere_give_the_same_wheel(pure_wheel: Path, tmp_path: Path) -> None:
    """Another folder, other times and rights of the files."""
    elsewhere = tmp_path / "elsewhere"
    left = shutil.ignore_patterns("__pycache__")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, elsewhere / folder, ignore=left, copy_function=shutil.copy)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, elsewhere / name)
    (elsewhere / "replica/satchel/store/rows.py").chmod(0o600)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    environment = {"SOURCE_DATE_EPOCH": wheels.SOME_DAY}
    subprocess.run(command, cwd=elsewhere, check=True, capture_output=True, env=environment)
    assert (tmp_path / pure_wheel.name).read_bytes() == pure_wheel.read_bytes()


def test_a_second_build_gives_the_same_native_wheel(native_wheel: Path, tmp_path: Path) -> None:
    assert wheels.build_native(tmp_path).read_bytes() == native_wheel.read_bytes()
