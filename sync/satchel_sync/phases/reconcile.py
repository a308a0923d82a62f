"""Reconcile: a file and a hub whose pasts do not fit compare all they hold, and level it.

After a rewind of the hub the replica refills it; rows of any origin are taken, deletes hold, and
the cursors end at a bound that was taken before the comparison, so that no row falls between.
"""

from __future__ import annotations

from collections.abc import Callable

from satchel_sync.phases.compare import differing, level
from satchel_sync.phases.push import push
from satchel_sync.ports import Hub, Replica
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally

Progress = Callable[[str, str, int, int], None]


def reconcile(replica: Replica, hub: Hub, tally: Tally, progress: Progress) -> None:
    """Level every kind, then let the cursors start from what both sides now share.

    Killed anywhere before the end, the file still says that it is due, and it is done again. A kind
    that is refused leaves it due.
    """
    started = hub.reconcile()
    for number, table in enumerate(TABLES, start=1):
        with tally.kind(table.name):
            level(replica, hub, table, unequal(replica, hub, table), tally)
        progress("reconcile", table.name, number, len(TABLES))
    push(replica, hub, TABLES, tally, progress)
    if not tally.failed:
        hub.reconciled(started.seqs)
        replica.reconciled(started)


def unequal(replica: Replica, hub: Hub, table: Table) -> list[int]:
    """Buckets that differ, whatever waits here."""
    mine = replica.digest(table, settled=False)
    assert mine is not None
    theirs = hub.digests({table.name: replica.held_back(table)})
    return differing(mine, theirs[table.name])
