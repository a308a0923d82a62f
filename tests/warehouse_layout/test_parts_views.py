"""Views, sums and searches find the same in a warehouse with partitions."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from fix_hub import fresh_hub
from fix_partitioned import PARTITIONS

from satchel_warehouse.seeding.seed import seed
from satchel_warehouse.views.refresh import refresh

ROWS = 600
UNTIL_MS = 1_700_000_000_000
OF_NO_CLOCK = (
    *("activity", "knowledge_changes", "conflicts", "deletions", "totals", "usage"),
    *("conversations", "embedding_coverage", "reads", "task_flow"),
)
"""Views that say the same at any time of asking."""


def told(dsn: str) -> dict[str, list[str]]:
    """View -> its rows, sorted."""
    seed(dsn, rows=ROWS, number=7, until_ms=UNTIL_MS)
    refresh(dsn)
    # A sum of costs depends on the order in its last digit.
    query = (
        "SELECT (to_jsonb(v) - 'cost')::text FROM report.{} v WHERE tenant = 'seeded' ORDER BY 1"
    )
    with psycopg.connect(dsn) as db:
        found = {view: db.execute(query.format(view).encode()).fetchall() for view in OF_NO_CLOCK}
    return {view: [str(row) for (row,) in rows] for view, rows in found.items()}


@pytest.fixture(scope="module")
def plain(cluster: str) -> Iterator[str]:
    with fresh_hub(cluster) as world:
        yield world.dsn


def test_the_views_say_the_same(cluster: str, plain: str) -> None:
    without = told(plain)
    with fresh_hub(cluster, PARTITIONS) as world:
        assert told(world.dsn) == without
        found = world.psql().execute("SELECT count(*) FROM satchel.memory_p0").fetchall()
        assert found[0][0] > 0
    assert {view for view, rows in without.items() if not rows} <= {"conflicts", "deletions"}
