"""The hub with the next page on its way while the last one is being applied."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from satchel_crypto.network import Policy
from satchel_sync.changes import Page
from satchel_sync.errors import SyncError
from satchel_sync.tables import Table
from satchel_warehouse.database import NAMED
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.login import Dsn


@dataclass(frozen=True, slots=True)
class _Asked:
    """A page that was asked for before anybody wanted it."""

    of: tuple[str, int, int]
    page: Future[Page]


class PagesAhead(WarehouseHub):
    """A `WarehouseHub` that has one page more in memory, and a pull that waits for half as long.

    The server reads and sends a page, and this machine unpacks it, while SQLite stores the one
    before. That happens on a connection of its own, opened for the second page of a pull: a call
    for anything else never meets it. A page that is not wanted after all was delivered in vain,
    which is what a page lost on its way is, too.
    """

    def __init__(self, dsn: Dsn, *, policy: Policy = NAMED) -> None:
        super().__init__(dsn, policy=policy)
        self._other = WarehouseHub(dsn, policy=policy)
        self._worker: ThreadPoolExecutor | None = None
        self._asked: _Asked | None = None

    def close(self) -> None:
        """Wait for the page that is on its way, then close both connections."""
        if self._worker is not None:
            self._worker.shutdown(cancel_futures=True)
            self._worker = None
        self._asked = None
        self._other.close()
        super().close()

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """A page in hub order; the one behind it is asked for at once."""
        page = self._taken(table, after, upto) or super().pull(table, after, upto)
        if page.cursor < upto:
            self._ask(table, page.cursor, upto)
        return page

    def _taken(self, table: Table, after: int, upto: int) -> Page | None:
        """The page that was asked for, if it is the one that is wanted and it came."""
        asked, self._asked = self._asked, None
        if asked is None or asked.of != (table.name, after, upto):
            return None
        try:
            return asked.page.result()
        except SyncError:
            return None  # the caller asks on the other connection, and meets the error if it stays

    def _ask(self, table: Table, after: int, upto: int) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "pages-ahead")
        self._other.resume(self)
        page = self._worker.submit(self._other.pull, table, after, upto)
        self._asked = _Asked((table.name, after, upto), page)
