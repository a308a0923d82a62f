"""Machines that share a warehouse, fresh for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_machines import Fleet


@pytest.fixture
def fleet(hub_world: HubWorld, tmp_path: Path) -> Iterator[Fleet]:
    """Two or more machines on disk, each with a login of its own at a real Postgres."""
    fleet = Fleet(hub_world, tmp_path)
    try:
        yield fleet
    finally:
        fleet.close()
