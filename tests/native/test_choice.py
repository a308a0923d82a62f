"""Which ranking engine is chosen, and what is said where the native one can't be used."""

import builtins
import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from satchel.ranking import RankingUnavailable, choose, engine_name, native_refusal, pure
from satchel.ranking.contract import CONTRACT


@pytest.fixture
def no_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the import of the native package fail, as on a machine without it."""
    monkeypatch.setitem(sys.modules, "satchel_native", None)


@pytest.fixture
def old_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a native package of an older contract in place."""
    old = ModuleType("satchel_native")
    old.CONTRACT = CONTRACT - 1  # type: ignore[attr-defined]
    old.__version__ = "0.0.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "satchel_native", old)


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


@pytest.mark.usefixtures("old_native")
def test_another_contract_falls_back_with_a_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert choose("auto") is pure
    assert f"keeps ranking contract {CONTRACT - 1}" in caplog.text
    with pytest.raises(RankingUnavailable, match="0\\.0\\.9 keeps ranking contract"):
        choose("native")
