"""Worlds of vectors, one a test; the scan of either engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from vector_world import World

from satchel.ranking import native_refusal
from satchel.vectors import following, nearest

needs_native = pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal()))


@pytest.fixture(params=["pure", pytest.param("native", marks=needs_native)])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def world(tmp_path: Path, engine: str) -> Iterator[World]:
    made = World(tmp_path, engine=engine)
    yield made
    made.close()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures so small that a small store goes every way that a large one does."""
    monkeypatch.setattr(nearest, "MORE", 1)
    monkeypatch.setattr(nearest, "SCANNED_EACH", 1)
    monkeypatch.setattr(nearest, "SCANNED_MORE", 2)
    monkeypatch.setattr(nearest, "WIDER", 2)
    monkeypatch.setattr(nearest, "ROWS_PROVED_MAX", 2)
    monkeypatch.setattr(following, "ROOM_MIN", 3)
    monkeypatch.setattr(following, "READ_AT_ONCE", 4)
