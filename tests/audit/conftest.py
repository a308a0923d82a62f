"""A home with its audit, and hands that change it behind satchel's back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent / "store"))

from home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """An empty home, opened as its operator."""
    with Home(tmp_path / "home") as made:
        yield made
