"""One sync, phase by phase: start reading here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel_sync.changes import Access
from satchel_sync.errors import SyncError
from satchel_sync.phases.finish import finish
from satchel_sync.phases.handshake import handshake
from satchel_sync.phases.pull import pull
from satchel_sync.phases.push import push
from satchel_sync.phases.reconcile import reconcile
from satchel_sync.phases.verify import verify
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.tables import EMBEDDING, TABLES
from satchel_sync.tally import Tally

Progress = Callable[[str, str, int, int], None]
"""Called with (phase, kind, done, of): rows for a push, change sequences for a pull."""

LANES = (tuple(table for table in TABLES if table is not EMBEDDING), (EMBEDDING,))
"""Text goes both ways before the first vector: it is usable early, and vectors are the bulk."""


def silent(phase: str, kind: str, done: int, of: int) -> None:
    """A `Progress` that shows nothing."""


def sync(replica: Replica, hub: Hub, clock: Clock, progress: Progress = silent) -> dict[str, Any]:
    """Reconcile a replica with the hub, both ways, and return the report.

    The order of push and pull does not matter for the result, and a sync killed anywhere is taken
    up by the next one. Raises SyncError when the two may not talk at all, or stop talking: its
    report is kept on the replica.
    """
    tally = Tally()
    try:
        exchange(replica, hub, clock, tally, progress)
        return finish(replica, hub, tally)
    except SyncError as error:
        tally.stopped(error)
        replica.record(tally.report())
        raise


def exchange(
    replica: Replica, hub: Hub, clock: Clock, tally: Tally, progress: Progress = silent
) -> None:
    """Everything but the end: until this returns, `tally` says how far it came."""
    with timed(tally, clock, "handshake"):
        welcome = handshake(replica, hub, clock, tally)
    seqs = welcome.seqs
    if replica.due() and welcome.access is Access.OK:
        with timed(tally, clock, "reconcile"):
            reconcile(replica, hub, tally, progress)
            seqs = hub.bound()
    for lane in LANES:
        sent = False
        if welcome.access is Access.OK:
            with timed(tally, clock, "push"):
                sent = push(replica, hub, lane, tally, progress)
        with timed(tally, clock, "pull"):
            pull(replica, hub, lane, hub.bound() if sent else seqs, tally, progress)
    if welcome.access is Access.OK:
        with timed(tally, clock, "digest"):
            verify(replica, hub, tally)


@contextmanager
def timed(tally: Tally, clock: Clock, phase: str) -> Iterator[None]:
    """Add how many milliseconds the body took to those of a phase."""
    start_ms = clock.now_ms()
    try:
        yield
    finally:
        tally.ms[phase] = tally.ms.get(phase, 0) + clock.now_ms() - start_ms
