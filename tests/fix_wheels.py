"""Wheels as `make wheels` builds them, once a session, and what is in one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import wheels


@pytest.fixture(scope="session")
def pure_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of satchel."""
    return wheels.build_pure(tmp_path_factory.mktemp("pure"))


@pytest.fixture(scope="session")
def native_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of satchel-native; skips where it cannot be built."""
    reason = wheels.why_not_native()
    if reason:
        pytest.skip(reason)
    return wheels.build_native(tmp_path_factory.mktemp("native"))


def files_of(wheel: Path) -> dict[str, bytes]:
    """Every file of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        return {name: archive.read(name) for name in names}
