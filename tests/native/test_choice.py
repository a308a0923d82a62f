"""Which ranking engine is chosen, and what is said where the native one can't be used."""

import builtins
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fix_command import run

import satchel
from satchel.ranking import (
    NativeMismatch,
    RankingUnavailable,
    choose,
    engine_name,
    native_refusal,
    pure,
)
from satchel.ranking.contract import CONTRACT


@pytest.fixture
def no_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the import of the native package fail, as on a machine without it."""
    monkeypatch.setitem(sys.modules, "satchel_native", None)


VERSION = satchel.__version__
OTHERS = [("0.0.9", CONTRACT), (VERSION, CONTRACT - 1), ("0.0.9", CONTRACT - 1)]
"""Native packages that do not belong to this release: version and contract."""


def test_pure_is_given_without_a_look_at_native(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def guarded(name: str, *arguments: Any, **options: Any) -> ModuleType:
        assert name != "satchel_native"
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert choose("pure") is pure
    assert engine_name(pure) == "pure"


def test_auto_takes_native_exactly_where_it_can_be_used() -> None:
    expected = "pure" if native_refusal() else "native"
    assert engine_name(choose("auto")) == expected


@pytest.mark.usefixtures("no_native")
def test_without_native_auto_is_pure_and_a_demand_is_refused() -> None:
    assert choose("auto") is pure
    assert "can't be imported" in str(native_refusal())
    with pytest.raises(RankingUnavailable, match="make native") as refusal:
        choose("native")
    assert refusal.value.code == "ranking_unavailable"


@pytest.mark.parametrize(("version", "contract"), OTHERS)
def test_half_an_upgrade_is_refused_by_all_but_pure(
    monkeypatch: pytest.MonkeyPatch, version: str, contract: int
) -> None:
    other = ModuleType("satchel_native")
    other.CONTRACT, other.__version__ = contract, version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "satchel_native", other)
    words = f"`satchel_native` {version} with ranking contract {contract} is installed beside"
    for engine in ("auto", "native"):
        with pytest.raises(NativeMismatch, match=words) as refusal:
            choose(engine)
        assert refusal.value.code == "native_mismatch"
        assert "satchel[native]" in refusal.value.hint
    assert words in str(native_refusal())
    assert choose("pure") is pure


def test_a_memory_is_kept_beside_the_wrong_core_and_found_with_the_right_one(
    tmp_path: Path,
) -> None:
    """A search says what is wrong, doctor too, a write does without; pure goes on."""
    package, home = tmp_path / "path" / "satchel_native", str(tmp_path / "home")
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text(f'__version__ = "0.0.9"\nCONTRACT = {CONTRACT}\n')
    beside = {"PYTHONPATH": str(package.parent), "SATCHEL_HOME": home}

    assert run("memory", "write", "the blue door", "--json", **beside).code == 0
    search = run("search", "door", "--json", **beside)
    assert (search.code, search.error["code"]) == (1, "native_mismatch")
    assert "make native" in search.error["hint"]
    checks = {check["name"]: check for check in run("doctor", "--json", **beside).json["checks"]}
    assert checks["ranking"]["ok"] == "fail"
    assert "0.0.9" in checks["ranking"]["found"] + checks["ranking"]["why"]
    assert "make native" in checks["ranking"]["fix"]
    for environment in (beside | {"SATCHEL_RANKING": "pure"}, {"SATCHEL_HOME": home}):
        found = run("search", "door", "--json", **environment)
        assert "the blue door" in found.out, found.err
