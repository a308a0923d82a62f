"""Pull: the hub's to mine, page by page; rows and cursor move in one local transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel_sync.ports import Hub, Replica
from satchel_sync.progress import Progress
from satchel_sync.tables import Table
from satchel_sync.tally import Tally


def pull(
    replica: Replica,
    hub: Hub,
    tables: Sequence[Table],
    bound: Mapping[str, int],
    tally: Tally,
    progress: Progress,
) -> None:
    """Fetch what changed up to the bound (kind -> change sequence), kind by kind."""
    for table in tables:
        if table.name in bound:
            with tally.kind(table.name):
                pull_table(replica, hub, table, bound[table.name], tally, progress)


def pull_table(
    replica: Replica, hub: Hub, table: Table, upto: int, tally: Tally, progress: Progress
) -> None:
    """Fetch one kind; killed between two pages, the next sync goes on at the page."""
    after = replica.cursor(table)
    while after < upto:
        page = hub.pull(table, after, upto)
        applied = replica.apply(table, page.rows, page.cursor)
        tally.add(table.name, pulled=len(page.rows), applied=applied.applied)
        tally.conflicts += applied.conflicts
        tally.bytes_in += page.bytes_in
        after = page.cursor
        progress("pull", table.name, after, upto)
    tally.cursor[table.name] = after
