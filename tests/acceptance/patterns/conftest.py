"""One team on one machine and one on two, for all patterns: each pattern has a cast of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub_pool import HubPool
from fix_patterns import Team, team_on

MACHINES = {"one machine": ("laptop",), "two machines": ("laptop", "desktop")}


@pytest.fixture(scope="session", params=MACHINES)
def team(
    request: pytest.FixtureRequest,
    hub_databases: HubPool,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Team]:
    """The agents of all patterns, on one machine and then across two."""
    folder = tmp_path_factory.mktemp("team")
    with hub_databases.hub() as world, team_on(folder, world, *MACHINES[request.param]) as team:
        yield team
