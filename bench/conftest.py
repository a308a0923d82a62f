"""What the benchmarks share: replicas of a size, filled once a run; a durable Postgres."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.stock import stocked
from fix_hub import PREFIX

from satchel_warehouse.serve_embedded import running

HOURS_S = 2 * 60 * 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--memories N`: how many a first pull brings; a million takes minutes.

    `--rows N`: of the seeded warehouse; `--warehouse DSN`: one that was seeded before.
    """
    parser.addoption("--memories", type=int, default=100_000, help="of bench_first_pull")
    parser.addoption("--rows", type=int, default=1_000_000, help="of bench_views")
    parser.addoption("--warehouse", default="", help="of bench_views: an administrator's DSN")


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
def durable_cluster() -> Iterator[str]:
    """The administrator's DSN of an embedded Postgres with its own defaults, fsync included."""
    # Not under pytest's folder: every run of pytest closes it to others, and under root the server
    # runs as another user.
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        with running(folder / "cluster") as (served, _):
            yield served.dsn
    finally:
        shutil.rmtree(folder)
