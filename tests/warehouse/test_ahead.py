"""Pages that were asked for ahead are the pages that would have been given, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_hub import HubWorld, fresh_hub, row_of, titled

from satchel_sync.changes import Page
from satchel_sync.tables import CHATLOG, MEMORY
from satchel_warehouse import endpoint
from satchel_warehouse.ahead import PagesAhead
from satchel_warehouse.endpoint import WarehouseHub

ROWS = 25


@pytest.fixture
def world(cluster: str) -> Iterator[HubWorld]:
    with fresh_hub(cluster) as made:
        yield made


@pytest.fixture
def ahead(world: HubWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[PagesAhead]:
    monkeypatch.setattr(endpoint, "PULL_ROWS_MAX", 4)
    with PagesAhead(world.login()) as hub:
        world.hello(hub, 1)
        content = titled(MEMORY, content="x")
        hub.push(MEMORY, [row_of(MEMORY, f"ahead-{at:02}", content) for at in range(ROWS)])
        yield hub


def pulled(hub: WarehouseHub, after: int = 0) -> list[Page]:
    upto, pages = hub.bound()["memory"], []
    while after < upto:
        pages.append(hub.pull(MEMORY, after, upto))
        after = pages[-1].cursor
    return pages


def test_pages_come_in_order_and_end_at_the_bound(world: HubWorld, ahead: PagesAhead) -> None:
    pages = pulled(ahead)
    assert [len(page.rows) for page in pages] == [4, 4, 4, 4, 4, 4, 1]
    assert pages == pulled(world.replica(2))


def test_other_calls_in_between_change_nothing(ahead: PagesAhead) -> None:
    upto = ahead.bound()["memory"]
    first = ahead.pull(MEMORY, 0, upto)
    assert ahead.pull(CHATLOG, 0, 5).cursor == 5
    ahead.push(MEMORY, [row_of(MEMORY, "late", titled(MEMORY, content="y"))])
    second = ahead.pull(MEMORY, first.cursor, upto)
    assert [row.key for row in second.rows] == [f"ahead-{at:02}" for at in range(4, 8)]
    assert ahead.pull(MEMORY, 0, upto) == first


def test_a_page_that_got_lost_is_asked_for_again(world: HubWorld, ahead: PagesAhead) -> None:
    wanted = [[row.key for row in page.rows] for page in pulled(world.replica(2))]
    upto, after, found = ahead.bound()["memory"], 0, []
    while after < upto:
        page = ahead.pull(MEMORY, after, upto)
        found.append([row.key for row in page.rows])
        after = page.cursor
        # Both connections are cut, with a page on its way or just arrived.
        world.psql().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
            (world.logins[0],),
        )
    assert found == wanted


def test_close_waits_for_the_page_on_its_way_and_may_be_repeated(ahead: PagesAhead) -> None:
    upto = ahead.bound()["memory"]
    ahead.pull(MEMORY, 0, upto)
    ahead.close()
    ahead.close()
    assert len(ahead.pull(MEMORY, 4, upto).rows) == 4
