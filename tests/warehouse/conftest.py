"""One embedded Postgres for all tests of the warehouse, a hub for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub import HubWorld, embedded_cluster, fresh_hub


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The administrator's DSN of the session's Postgres."""
    with embedded_cluster() as dsn:
        yield dsn


@pytest.fixture(scope="module")
def world(cluster: str) -> Iterator[HubWorld]:
    """An initialised hub in a database of its own."""
    with fresh_hub(cluster) as world:
        yield world
