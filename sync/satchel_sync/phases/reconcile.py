"""Reconcile: a file and a hub whose pasts do not fit compare all they hold, and level it.

After a rewind of the hub the replica refills it; rows of any origin are taken, deletes hold, and
the cursors end at a bound that was taken before the comparison, so that no row falls between.
"""

from __future__ import annotations

from satchel_sync.changes import Reconciling
from satchel_sync.phases.compare import differing, level
from satchel_sync.phases.push import push
from satchel_sync.ports import Hub, Replica
from satchel_sync.progress import Progress
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally

ROUNDS_MAX = 3
"""A pushed row may be stamped anew and lose then, and what beat it lies below the new cursors."""


def reconcile(replica: Replica, hub: Hub, tally: Tally, progress: Progress) -> None:
    """Level every kind, then let the cursors start from what both sides now share.

    Killed anywhere before the end, the file still says that it is due, and it is done again; so
    does a kind that is refused on the way. Should rows still differ after the last round, the
    digest check of this sync finds them.
    """
    left_out = set(tally.failed)
    started = hub.reconcile()
    for _ in range(ROUNDS_MAX):
        if not level_all(replica, hub, tally, progress):
            break
        push(replica, hub, TABLES, tally, progress)
    if left_out.issuperset(tally.failed):
        level_kinds = {kind: seq for kind, seq in started.seqs.items() if kind not in left_out}
        hub.reconciled(level_kinds)
        replica.reconciled(Reconciling(started.epoch, level_kinds))


def level_all(replica: Replica, hub: Hub, tally: Tally, progress: Progress) -> bool:
    """Level every kind; whether anything differed, or waits here for a push."""
    found = False
    for number, table in enumerate(TABLES, start=1):
        if table.name in tally.failed:
            continue
        with tally.kind(table.name):
            found |= bool(level(replica, hub, table, unequal(replica, hub, table), tally))
            found |= replica.digest(table) is None
        progress("reconcile", table.name, number, len(TABLES))
    return found


def unequal(replica: Replica, hub: Hub, table: Table) -> list[int]:
    """Buckets that differ, whatever waits here."""
    mine = replica.digest(table, settled=False)
    assert mine is not None
    theirs = hub.digests({table.name: replica.held_back(table)})
    return differing(mine, theirs[table.name])
