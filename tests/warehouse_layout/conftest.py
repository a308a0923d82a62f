"""A warehouse with partitions where other tests have one without, and a DBA's hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub_pool import HubPool, hub_pool
from fix_partitioned import PARTITIONS
from fix_psql import Administrator
from fix_servers import postgres
from fix_sides import Doors, WarehouseDoors, hub

from satchel_warehouse import deploy

__all__ = ["hub"]


@pytest.fixture(scope="session")
def hub_databases(cluster: str) -> Iterator[HubPool]:
    """Hubs with partitions."""
    with hub_pool(cluster, PARTITIONS) as pool:
        yield pool


@pytest.fixture(scope="session")
def dba(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Administrator]:
    """An administrator of a server of the system's own Postgres."""
    scripts = tmp_path_factory.mktemp("sql")
    deploy.write(scripts)
    with postgres() as server:
        server.start()
        yield Administrator(server, scripts)


@pytest.fixture
def doors(request: pytest.FixtureRequest) -> Doors:
    """The doors of a fresh hub."""
    return WarehouseDoors(request.getfixturevalue("hub_world"))
