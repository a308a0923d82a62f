"""Fixtures of the memory tests: one open replica a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened

from satchel.replica import Replica


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def replica(tmp_path: Path, clock: StillClock) -> Iterator[Replica]:
    """As the operator, keywords only."""
    with opened(tmp_path, clock=clock, embedding="off") as found:
        yield found


@pytest.fixture
def ada(tmp_path: Path, clock: StillClock) -> Iterator[Replica]:
    """As the agent `ada` of the user `una`."""
    with opened(tmp_path, "ada", clock=clock, embedding="off") as found:
        yield found


@pytest.fixture
def hybrid(tmp_path: Path, clock: StillClock) -> Iterator[Replica]:
    """As the operator, with a warm embedder."""
    with opened(tmp_path, clock=clock, embedder=TrigramEmbedder()) as found:
        yield found
