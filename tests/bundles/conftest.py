"""Sites for tests of bundles: `site` is in memory and real in turn, `real` is the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_bundles import MemorySite, RealSite, Site
from fix_hub import HubWorld
from fix_machines import Fleet


@pytest.fixture
def real(hub_world: HubWorld, tmp_path: Path) -> Iterator[RealSite]:
    """Real files, a real hub."""
    site = RealSite(Fleet(hub_world, tmp_path))
    try:
        yield site
    finally:
        site.close()
        site.fleet.close()


@pytest.fixture(params=["memory", "real"])
def site(request: pytest.FixtureRequest) -> Site:
    """Both in turn."""
    if request.param == "memory":
        return MemorySite()
    found: RealSite = request.getfixturevalue("real")
    return found
