"""Programs of several versions, and a hub with machines that run any of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_hub import HubWorld
from fix_mixed import World
from fix_versions import Versions, started, versions_in


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """The copies of the packages, made once."""
    return versions_in(tmp_path_factory.mktemp("versions"))


@pytest.fixture
def versions(copies: Versions) -> Iterator[Versions]:
    """The programs, with their processes ended behind the test."""
    with started(copies) as own:
        yield own


@pytest.fixture
def mixed(hub_world: HubWorld, versions: Versions, tmp_path: Path) -> World:
    """A hub of the present version, no machine yet."""
    return World(hub_world, versions, tmp_path)
