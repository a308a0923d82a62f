"""A home that names a warehouse, and satchel in a clean environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fix_command import Run, run
from fix_command import environment as clean
from fix_schedule import DSN, configure


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A replica's home whose config.toml names a warehouse."""
    folder = tmp_path / "a home"
    folder.mkdir()
    configure(folder, DSN)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """A clean environment whose HOME is a temporary folder, with what is given beside."""
    return lambda **more: clean(HOME=str(tmp_path / "user"), **more)


@pytest.fixture
def satchel(tmp_path: Path) -> Callable[..., Run]:
    """Run `satchel ARGUMENTS` to its end; keywords are variables."""
    return lambda *arguments, **more: run(*arguments, HOME=str(tmp_path / "user"), **more)
