"""A program that is not whole: another SQLite, no package or model, a clock that is wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import apsw
import pytest
from fix_doctor import Patient, quoted
from fix_hub import HubWorld
from fix_memory import TrigramEmbedder, opened
from fix_models import small_folder
from fix_wrong_clock import NEEDS_COMPILER, wrong_clock

from satchel.embedding.native import refusal
from satchel.memory.search import search
from satchel.memory.write import write

needs_native = pytest.mark.skipif(bool(refusal()), reason=refusal())
DEBIANS = Path("/usr/lib/python3/dist-packages/apsw")
NEEDS_DEBIANS_APSW = pytest.mark.skipif(
    not DEBIANS.is_dir(), reason="needs the system package python3-apsw"
)
OF_THIS_PYTHON = pytest.mark.skipif(
    not list(DEBIANS.glob(f"*cpython-3{sys.version_info.minor}-*")),
    reason="Debian's apsw is of another Python",
)
TWO_YEARS_S = 63_072_000


@NEEDS_DEBIANS_APSW
@OF_THIS_PYTHON
def test_another_sqlite(tmp_path: Path) -> None:
    """Debian's, which is older than satchel's and hides it."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "apsw").symlink_to(DEBIANS)
    patient = Patient(tmp_path / "home", prefix=("env", f"PYTHONPATH={tmp_path / 'lib'}"))
    bad = patient.bad()
    assert list(bad)[-1] == "sqlite", "no other check would get further"
    assert bad["sqlite"]["ok"] == "fail"
    assert str(tmp_path / "lib" / "apsw") in bad["sqlite"]["found"]
    assert "`pip install --upgrade apsw`" in bad["sqlite"]["fix"]
    assert "no other apsw before it on PYTHONPATH" in bad["sqlite"]["fix"]
    Patient(patient.home).written("the attic is dry")
    Patient(patient.home).is_well()


def test_an_sqlite_with_the_fault_of_the_wal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version is what matters: this one works, and can lose what is in the log."""
    patient = Patient(tmp_path / "home")
    for version, verdict in (("3.51.2", "fail"), ("3.51.3", "ok"), ("3.6.23.1", "fail")):
        monkeypatch.setattr(apsw, "sqlite_lib_version", lambda said=version: said)
        sqlite = patient.checks()["sqlite"]
        assert (sqlite["ok"], f"SQLite {version}" in sqlite["found"]) == (verdict, True)
        assert ("can damage a database" in sqlite["why"]) == (verdict == "fail")


@pytest.mark.parametrize("package", ["fasteners", "apsw"])
def test_a_package_that_cannot_be_imported(tmp_path: Path, package: str) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / f"{package}.py").write_text(f"raise ImportError('no {package} here')")
    patient = Patient(tmp_path / "home", prefix=("env", f"PYTHONPATH={tmp_path / 'lib'}"))
    Patient(patient.home).written("the attic is dry")
    refused = patient.satchel("backup")
    assert refused.code == 1
    assert "a package that satchel needs is missing or broken" in refused.error["hint"]
    assert "`satchel doctor` tells more" in refused.error["hint"]
    program = patient.bad()["program"]
    assert f"{package} (no {package} here)" in program["found"]
    assert "the kit's `install.py`" in program["fix"]
    Patient(patient.home).is_well()


# ---- the model and its vectors ------------------------------------------------------------------


@needs_native
def test_a_missing_model(tmp_path: Path) -> None:
    """It was named, and its folder is gone: search goes on by words until it is there again."""
    model = shutil.copytree(small_folder("bert-mean"), tmp_path / "model")
    said = (("SATCHEL_EMBEDDING", "auto"), ("SATCHEL_MODEL", str(model)))
    patient = Patient(tmp_path / "home", said)
    patient.written("the attic is dry")
    patient.is_well()
    model.rename(tmp_path / "lost")
    embedding = patient.bad()["embedding"]
    assert embedding["ok"] == "fail"
    assert str(model) in embedding["found"]
    assert embedding["why"] == "search is by keyword only"
    assert "satchel model list" in embedding["fix"]
    (tmp_path / "lost").rename(model)
    patient.is_well()


@needs_native
def test_a_model_that_is_not_in_use_yet(tmp_path: Path) -> None:
    """Questions are asked with the old one until the new one has seen all texts."""
    old, new = str(small_folder("bert-mean")), str(small_folder("bert-cls"))
    said = {"SATCHEL_EMBEDDING": "auto", "SATCHEL_MODEL": old}
    patient = Patient(tmp_path / "home", tuple(said.items()))
    patient.written("the attic is dry")
    assert patient.satchel("model", "reembed").code == 0
    patient.is_well()
    changed = Patient(patient.home, tuple({**said, "SATCHEL_MODEL": new}.items()))
    model = changed.bad()["model"]
    assert model["ok"] == "warn"
    assert "in use: bert-mean@" in model["found"]
    assert "the configured model is bert-cls@" in model["found"]
    assert changed.satchel(*quoted(model["fix"], "satchel model reembed").split()[1:]).code == 0
    changed.is_well()


@needs_native
def test_a_configured_model_that_is_gone(tmp_path: Path) -> None:
    """Nothing takes the place of the one in use, and `model reembed` would not help."""
    said = {"SATCHEL_EMBEDDING": "auto", "SATCHEL_MODEL": str(small_folder("bert-mean"))}
    patient = Patient(tmp_path / "home", tuple(said.items()))
    patient.written("the attic is dry")
    assert patient.satchel("model", "reembed").code == 0
    gone = str(tmp_path / "gone")
    model = Patient(patient.home, tuple({**said, "SATCHEL_MODEL": gone}.items())).bad()["model"]
    assert f"cannot be used: model '{gone}'" in model["found"]
    assert model["why"].startswith("the configured model is not used")
    assert "unset `embedding.model` or SATCHEL_MODEL" in model["fix"]
    assert "reembed" not in model["fix"]
    patient.is_well()


def test_a_damaged_vector_file(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        write(replica, "the shed is green")
        search.search(replica, "green shed")
    patient = Patient(tmp_path)
    (path,) = (tmp_path / "vectors").glob("*.memory.vec")
    with path.open("r+b") as file:
        file.write(b"no vectors here")
    vectors = patient.bad()["vectors"]
    assert (vectors["ok"], vectors["fixable"]) == ("warn", True)
    assert f"{path.name} cannot be used: " in vectors["found"]
    assert quoted(vectors["fix"], "satchel doctor --fix")
    assert patient.checks("--fix")["vectors"]["fixed"].startswith("not done: remove ")
    assert path.exists()
    assert patient.checks("--fix", "--yes")["vectors"]["fixed"] == f"removed {path.name}"
    patient.is_well()
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        assert search.search(replica, "green shed").hits
    assert path.exists()
    patient.is_well()


# ---- the clock ----------------------------------------------------------------------------------


@NEEDS_COMPILER
def test_a_wrong_clock(tmp_path: Path, hub_world: HubWorld) -> None:
    """Two years ahead: told against the warehouse; then set right, and a sync mends the stamps."""
    dsn = (("SATCHEL_WAREHOUSE_DSN", hub_world.login()),)
    ahead = Patient(tmp_path / "home", dsn, prefix=wrong_clock(tmp_path, TWO_YEARS_S))
    ahead.written("the attic is dry")
    clock = ahead.bad()["clock"]
    assert clock["ok"] == "warn"
    offset_ms = int(clock["found"].split()[-2])
    assert abs(offset_ms / 1000 - TWO_YEARS_S) < 60
    assert "set this machine's clock" in clock["fix"]
    right = Patient(tmp_path / "home", dsn)
    bad = right.bad()
    assert list(bad) == ["stamps"]
    assert "a sync puts right what it stamped" in bad["stamps"]["fix"]
    synced = right.satchel("sync")
    assert synced.code == 0, synced.err
    right.is_well()
    assert right.found("attic") == ["the attic is dry"]
