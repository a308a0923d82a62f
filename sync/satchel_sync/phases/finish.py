"""Finish: journal entries travel, the report is made and kept on both sides."""

from __future__ import annotations

from typing import Any

from satchel_sync.ports import Hub, Replica
from satchel_sync.tally import Tally


def finish(replica: Replica, hub: Hub, tally: Tally) -> dict[str, Any]:
    """Hand over this machine's conflict journal and close the attempt with its report."""
    while losers := replica.losers():
        hub.journal(losers)
        replica.losers_sent(losers)
    tally.held_back, tally.due = replica.quarantined(), replica.due()
    report = tally.report()
    hub.bye(report)
    replica.record(report)
    return report
