"""Finish: journal and audit travel, the report is made and kept on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel_sync.changes import Access, AuditBatch, AuditHeld
from satchel_sync.errors import SyncError
from satchel_sync.phases.audit import begin_anew, noted, upload
from satchel_sync.ports import Hub, Replica
from satchel_sync.tally import Tally


def finish(
    replica: Replica, hub: Hub, tally: Tally, audit: Mapping[str, AuditHeld] | None = None
) -> dict[str, Any]:
    """Hand over this machine's conflict journal and audit, and close the attempt with its report.

    `audit` is what the hub said of the chains when it was met.
    """
    while tally.access == Access.OK and (losers := replica.losers()):
        hub.journal(losers)
        replica.losers_sent(losers)
    return close(replica, hub, tally, upload(replica, hub, tally, audit))


def close(
    replica: Replica, hub: Hub, tally: Tally, audit: AuditBatch | None = None
) -> dict[str, Any]:
    """Close the attempt, the last audit records with it; its report is kept on both sides.

    The hub's copy cannot tell what the hub answers to those records.
    """
    report = final(replica, tally)
    if audit is None or not audit.parts:
        hub.bye(report)
    else:
        noted(replica, tally, {}, hub.bye(report, audit.parts))
    begin_anew(replica, tally)
    report = tally.report()
    replica.record(report)
    return report


def stop(replica: Replica, tally: Tally, error: SyncError) -> None:
    """Keep the report of an attempt that did not come to its end."""
    tally.stopped(error)
    replica.record(final(replica, tally))


def final(replica: Replica, tally: Tally) -> dict[str, Any]:
    """The report, with what waits or is due on this machine at the end."""
    tally.held_back, tally.due, tally.left = replica.quarantined(), replica.due(), replica.left()
    if tally.access == Access.OK and not tally.error:
        waiting = replica.unsent(tally.begun).items()
        tally.unsent = {kind: rows for kind, rows in waiting if kind not in tally.failed}
    return tally.report()
