"""A home under audit, and short words for backing it up and restoring it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent / "audit"))
sys.path.append(str(Path(__file__).parent.parent / "store"))

from place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """An empty home, opened as its operator."""
    with Place(tmp_path / "home") as made:
        yield made
