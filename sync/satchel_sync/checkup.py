"""A checkup: every row of both sides read and compared, and with `repairing` put right."""

from __future__ import annotations

from typing import Any

from satchel_sync.changes import Access
from satchel_sync.errors import SyncError
from satchel_sync.phases.compare import unlike
from satchel_sync.phases.finish import close, finish, stop
from satchel_sync.phases.handshake import handshake
from satchel_sync.phases.heal import damage, heal
from satchel_sync.phases.verify import compare
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.progress import Progress, silent
from satchel_sync.session import timed, traffic
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally


def check(
    replica: Replica, hub: Hub, clock: Clock, *, repairing: bool, progress: Progress = silent
) -> dict[str, Any]:
    """Compare versions and content of every row of both sides, and return the report.

    Without `repairing` no row is written and none travels: only the attempt is opened and closed,
    under a new id if the file is a copy. Where rows wait to be sent or pulled the outcome is
    `later`, exit 10. With it what is damaged is healed from the side that holds it whole, and a
    sync follows. Content is read first: that makes both sides reckon their sums of versions anew.
    Raises SyncError as a sync does.
    """
    tally = Tally()
    try:
        with timed(tally, clock, "handshake"):
            welcome = handshake(replica, hub, clock, tally)
        healing = repairing and welcome.access is Access.OK
        with timed(tally, clock, "content"):
            read_all(replica, hub, tally, progress, repairing=healing)
        if repairing:
            traffic(replica, hub, clock, welcome, tally, progress)
            again(replica, hub, tally, progress, repairing=healing)
            return finish(replica, hub, tally, welcome.audit)
        tally.asked = True
        with timed(tally, clock, "digest"):
            look(replica, hub, tally)
        return close(replica, hub, tally)
    except SyncError as error:
        stop(replica, tally, error)
        raise


def look(replica: Replica, hub: Hub, tally: Tally) -> None:
    """Compare the digests and name the keys that differ; the worst outcome of all kinds counts."""
    found = compare(replica, hub, TABLES)
    outcomes = {"equal"}
    for table in TABLES:
        match found[table.name]:
            case None:
                outcomes.add("later")
                tally.later.append(table.name)
            case [_, *_] as buckets:
                outcomes.add("different")
                tally.name(tally.different, table.name, unlike(replica, hub, table, buckets))
    worst = ("equal", "later", "different")
    tally.digest = max(outcomes, key=worst.index)


def read_all(
    replica: Replica, hub: Hub, tally: Tally, progress: Progress, *, repairing: bool
) -> None:
    """Look for content that does not fit its version, kind by kind."""
    for number, table in enumerate(TABLES, start=1):
        with tally.kind(table.name):
            read(replica, hub, table, tally, repairing=repairing)
        progress("content", table.name, number, len(TABLES))


def again(replica: Replica, hub: Hub, tally: Tally, progress: Progress, *, repairing: bool) -> None:
    """Look once more at what was damaged and is held in another version since the sync."""
    if tally.damaged:
        tally.damaged.clear()
        read_all(replica, hub, tally, progress, repairing=repairing)


def read(replica: Replica, hub: Hub, table: Table, tally: Tally, *, repairing: bool) -> None:
    """Look at one kind, and heal it if that is asked for."""
    found = damage(replica, hub, table)
    left = heal(replica, hub, table, found) if repairing else found
    tally.name(tally.repaired, table.name, found.keys - left.keys)
    tally.name(tally.damaged, table.name, left.keys)
