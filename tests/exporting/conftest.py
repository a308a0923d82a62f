"""Fixtures of the export tests: a home that has a row of every kind, and an empty one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_full import filled
from fix_memory import StillClock, opened

from satchel.replica import Replica


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Replica]:
    """As the operator; with vectors."""
    (home := tmp_path / "full").mkdir()
    with filled(home) as found:
        yield found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Replica]:
    """As the operator, on another machine and later."""
    (home := tmp_path / "empty").mkdir()
    with opened(home, clock=StillClock(1_900_000_000_000), embedding="off") as found:
        yield found
