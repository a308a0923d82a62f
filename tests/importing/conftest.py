"""Fixtures of the import tests: one open replica a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import StillClock, opened

from satchel.replica import Replica


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def replica(tmp_path: Path, clock: StillClock) -> Iterator[Replica]:
    """As the operator, keywords only."""
    (home := tmp_path / "home").mkdir()
    with opened(home, clock=clock, embedding="off") as found:
        yield found
