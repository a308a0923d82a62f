"""How the syncs of this machine stand: what waits, what is held back, whether they get on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw

from satchel.audit import beside
from satchel.memory.moments import iso
from satchel.store import attempts
from satchel.store.status import Waiting, waiting
from satchel_sync.limits import STUCK_AFTER

if TYPE_CHECKING:
    from satchel.store.connection import Store

GOT_ON = frozenset({0, 11})
"""Exit codes of attempts that moved all there was to move."""
ASKED_FOR = frozenset({"sync_stopped"})
"""Codes of attempts that ended because somebody wanted it: they say nothing."""
REPORTS_READ = 200
"""Reports looked at to count how long a machine has been stuck."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """So many attempts in a row did not get on, the first at that time, the last for `why`."""

    attempts: int
    since_ms: int
    why: str

    def words(self) -> str:
        """One line for people."""
        return (
            f"this machine has not got on in {self.attempts} attempts, since {iso(self.since_ms)}:"
            f" {self.why}"
        )


def status(store: Store) -> dict[str, Any]:
    """What waits to be sent, what is held back, how the last sync went, and whether it is stuck."""
    with store.read() as db:
        found = waiting(db)
        reports = attempts.reports(db, REPORTS_READ)
        hub, due = attempts.hub_id(db), attempts.due(db)
    latest = reports[0] if reports else {}
    try:
        audit_pending = beside.waiting(store)
    except apsw.Error:  # activity.db is locked or damaged: `satchel doctor` tells
        audit_pending = {}
    trouble = stuck(reports)
    return {
        "replica_id": store.replica_id.hex(),
        "hub_id": hub.hex() if hub else None,
        "pending": found.pending,
        "quarantined": found.quarantined,
        "conflicts": found.conflicts,
        "audit_pending": audit_pending,
        "audit_refused": latest.get("audit", {}).get("refused", {}),
        **lag(found, store.now_ms()),
        "last_sync": iso(found.last_sync_ms) if found.last_sync_ms else None,
        "reconcile_due": due or None,
        "stuck": trouble.words() if trouble else None,
        "last_report": {name: said for name, said in latest.items() if name != "at_ms"} or None,
    }


def lag(found: Waiting, now_ms: int) -> dict[str, Any]:
    """Seconds since the oldest unsent write and since the last finished sync; None = none."""

    def seconds(since_ms: int | None) -> float | None:
        return None if since_ms is None else max(0, now_ms - since_ms) / 1000

    return {
        "oldest_unsent_s": seconds(found.oldest_unsent_ms),
        "lag_s": seconds(found.last_sync_ms),
    }


def stuck(reports: Sequence[dict[str, Any]]) -> Stuck | None:
    """Whether the latest attempts, newest first, all failed to get on: `STUCK_AFTER` or more."""
    failed = []
    for report in reports:
        if report["exit"] in GOT_ON:
            break
        if (report.get("error") or {}).get("code") not in ASKED_FOR:
            failed.append(report)
    if len(failed) < STUCK_AFTER:
        return None
    return Stuck(len(failed), int(failed[-1]["at_ms"]), why(failed[0]))


def why(report: dict[str, Any]) -> str:
    """What kept an attempt from getting on, in words."""
    if error := report.get("error"):
        return str(error["message"])
    if report.get("reconcile_due"):
        return str(report["reconcile_due"])
    if failed := report.get("failed"):
        return "; ".join(f"{kind}: {reason}" for kind, reason in failed.items())
    if damaged := report.get("damaged"):
        return f"content does not fit its version: {', '.join(damaged)}"
    if refused := (report.get("audit") or {}).get("refused"):
        return "; ".join(f"the audit chain {chain}: {reason}" for chain, reason in refused.items())
    if report.get("access", "ok") != "ok":
        return "this satchel is too old to send anything to the warehouse"
    return f"the two sides are {report.get('digest', 'unlike')}"
