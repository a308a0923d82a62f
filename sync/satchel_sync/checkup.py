"""A checkup: every row of both sides read and compared, and with `repairing` put right."""

from __future__ import annotations

from typing import Any

from satchel_sync.errors import SyncError
from satchel_sync.limits import BUCKETS_AT_ONCE
from satchel_sync.phases.compare import differences, parts
from satchel_sync.phases.finish import finish
from satchel_sync.phases.handshake import handshake
from satchel_sync.phases.heal import damage, heal
from satchel_sync.phases.verify import compare
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.session import Progress, exchange, silent, timed
from satchel_sync.tables import TABLES, Table
from satchel_sync.tally import Tally


def check(
    replica: Replica, hub: Hub, clock: Clock, *, repairing: bool, progress: Progress = silent
) -> dict[str, Any]:
    """Compare versions and content of every row of both sides, and return the report.

    Without `repairing` nothing is written but the attempt; where rows wait to be sent or pulled the
    outcome is `later`. With it a sync comes first, and what is damaged is healed from the side that
    holds it whole. Raises SyncError as a sync does.
    """
    tally = Tally()
    try:
        if repairing:
            exchange(replica, hub, clock, tally, progress)
        else:
            with timed(tally, clock, "handshake"):
                handshake(replica, hub, clock, tally)
            with timed(tally, clock, "digest"):
                look(replica, hub, tally)
        with timed(tally, clock, "content"):
            read_all(replica, hub, tally, progress, repairing=repairing)
        return finish(replica, hub, tally)
    except SyncError as error:
        tally.stopped(error)
        replica.record(tally.report())
        raise


def look(replica: Replica, hub: Hub, tally: Tally) -> None:
    """Compare the digests and name the keys that differ; the worst outcome of all kinds counts."""
    found = compare(replica, hub, TABLES)
    outcomes = {"equal"}
    for table in TABLES:
        match found[table.name]:
            case None:
                outcomes.add("later")
            case [_, *_] as buckets:
                outcomes.add("different")
                for some in parts(buckets, BUCKETS_AT_ONCE):
                    here, there = differences(replica, hub, table, some)
                    tally.name(tally.different, table.name, [*here, *there])
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


def read(replica: Replica, hub: Hub, table: Table, tally: Tally, *, repairing: bool) -> None:
    """Look at one kind, and heal it if that is asked for."""
    found = damage(replica, hub, table)
    left = heal(replica, hub, table, found) if repairing else found
    tally.name(tally.repaired, table.name, found.keys - left.keys)
    tally.name(tally.damaged, table.name, left.keys)
