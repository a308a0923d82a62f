"""Real machines at a hub whose clock a test can move on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_operations import Kept


@pytest.fixture
def kept(hub_world: HubWorld, tmp_path: Path) -> Iterator[Kept]:
    made = Kept(hub_world, tmp_path)
    try:
        yield made
    finally:
        made.close()
