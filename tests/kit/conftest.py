"""The kit that all tests of this folder share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_kit import shared, small_kit


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A whole kit with the extra `warehouse`, the model and, where it can be, the FIPS module."""
    base = tmp_path_factory.getbasetemp()
    of_all = base.parent if base.name.startswith("popen-") else base
    with shared(of_all / "kit-of-all") as built:
        yield built


@pytest.fixture
def small(kit: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, small, to do something to."""
    made = small_kit(kit, tmp_path / "small")
    yield made
    shutil.rmtree(made)
