"""What the benchmarks share: replicas of a size, filled once a run; a durable Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.stock import stocked

from satchel_warehouse.serve_embedded import running

HOURS_S = 2 * 60 * 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A benchmark may take longer than a test."""
    for item in items:
        item.add_marker(pytest.mark.timeout(HOURS_S))


@pytest.fixture(scope="session")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A home with so many memories. Whoever writes into it must say so by another size."""
    made: dict[int, Path] = {}

    def home(count: int) -> Path:
        if count not in made:
            made[count] = stocked(tmp_path_factory.mktemp(f"home{count}"), count)
        return made[count]

    return home


@pytest.fixture(scope="session")
def durable_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The administrator's DSN of an embedded Postgres with its own defaults, fsync included."""
    with running(tmp_path_factory.mktemp("cluster") / "data") as (served, _):
        yield served.dsn
