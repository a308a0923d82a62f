"""Finish: journal entries travel, the report is made and kept on both sides."""

from __future__ import annotations

from typing import Any

from satchel_sync.changes import Access
from satchel_sync.errors import SyncError
from satchel_sync.ports import Hub, Replica
from satchel_sync.tally import Tally


def finish(replica: Replica, hub: Hub, tally: Tally) -> dict[str, Any]:
    """Hand over this machine's conflict journal and close the attempt with its report."""
    while tally.access == Access.OK and (losers := replica.losers()):
        hub.journal(losers)
        replica.losers_sent(losers)
    return close(replica, hub, tally)


def close(replica: Replica, hub: Hub, tally: Tally) -> dict[str, Any]:
    """Close the attempt; its report is kept on both sides."""
    report = final(replica, tally)
    hub.bye(report)
    replica.record(report)
    return report


def stop(replica: Replica, tally: Tally, error: SyncError) -> None:
    """Keep the report of an attempt that did not come to its end."""
    tally.stopped(error)
    replica.record(final(replica, tally))


def final(replica: Replica, tally: Tally) -> dict[str, Any]:
    """The report, with what waits or is due on this machine at the end."""
    tally.held_back, tally.due = replica.quarantined(), replica.due()
    if tally.access == Access.OK and not tally.error:
        waiting = replica.unsent(tally.begun).items()
        tally.unsent = {kind: rows for kind, rows in waiting if kind not in tally.failed}
    return tally.report()
