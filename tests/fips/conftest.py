"""The module of a session, and a home with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_fips import FipsHome, built_module, fips_home


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder with the built module."""
    return built_module()


@pytest.fixture(scope="session")
def home(built: Path, tmp_path_factory: pytest.TempPathFactory) -> FipsHome:
    """A home that no test changes beyond writing into it."""
    return fips_home(tmp_path_factory.mktemp("fips"), built)


@pytest.fixture
def own_home(built: Path, tmp_path: Path) -> FipsHome:
    """A home whose module a test may damage."""
    return fips_home(tmp_path / "home", built)
