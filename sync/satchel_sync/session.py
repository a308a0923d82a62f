"""One sync, phase by phase: start reading here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from satchel_sync.changes import Access, Welcome
from satchel_sync.errors import SyncError
from satchel_sync.phases.finish import finish, stop
from satchel_sync.phases.handshake import handshake
from satchel_sync.phases.pull import pull
from satchel_sync.phases.push import push
from satchel_sync.phases.reconcile import reconcile
from satchel_sync.phases.verify import verify
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.progress import Progress, silent
from satchel_sync.tables import EMBEDDING, TABLES
from satchel_sync.tally import Tally

LANES = (tuple(table for table in TABLES if table is not EMBEDDING), (EMBEDDING,))
"""Text goes both ways before the first vector: it is usable early, and vectors are the bulk."""

EXCHANGES_MAX = 2
"""A pull can queue rows: what was lifted above, or is newer here. They go in the same sync."""


def sync(replica: Replica, hub: Hub, clock: Clock, progress: Progress = silent) -> dict[str, Any]:
    """Reconcile a replica with the hub, both ways, and return the report.

    The order of push and pull does not matter for the result, and a sync killed anywhere is taken
    up by the next one. Raises SyncError when the two may not talk at all, or stop talking: its
    report is kept on the replica.
    """
    tally = Tally()
    try:
        welcome = exchange(replica, hub, clock, tally, progress)
        return finish(replica, hub, tally, welcome.audit)
    except SyncError as error:
        stop(replica, tally, error)
        raise


def exchange(
    replica: Replica, hub: Hub, clock: Clock, tally: Tally, progress: Progress = silent
) -> Welcome:
    """Everything but the end: until this returns, `tally` says how far it came."""
    with timed(tally, clock, "handshake"):
        welcome = handshake(replica, hub, clock, tally)
    traffic(replica, hub, clock, welcome, tally, progress)
    return welcome


def traffic(
    replica: Replica,
    hub: Hub,
    clock: Clock,
    welcome: Welcome,
    tally: Tally,
    progress: Progress = silent,
) -> None:
    """Everything between the handshake and the end."""
    seqs = settled(replica, hub, clock, welcome, tally, progress)
    move(replica, hub, clock, seqs, tally, progress)
    compare(replica, hub, clock, tally)


def settled(
    replica: Replica,
    hub: Hub,
    clock: Clock,
    welcome: Welcome,
    tally: Tally,
    progress: Progress = silent,
) -> Mapping[str, int]:
    """Reconcile if that is due; kind -> the highest change sequence to pull up to."""
    tally.begun = replica.outbox_end()
    if not replica.due() or welcome.access is not Access.OK:
        return welcome.seqs
    with timed(tally, clock, "reconcile"):
        reconcile(replica, hub, tally, progress)
        return hub.bound()


def move(
    replica: Replica,
    hub: Hub,
    clock: Clock,
    seqs: Mapping[str, int],
    tally: Tally,
    progress: Progress = silent,
) -> None:
    """Push what waits, pull up to these bounds (kind -> change sequence) and to what we pushed."""
    may_push = tally.access == Access.OK
    for lane in LANES:
        for _ in range(EXCHANGES_MAX):
            if may_push:
                with timed(tally, clock, "push"):
                    seqs = hub.bound() if push(replica, hub, lane, tally, progress) else seqs
            pulled = tally.total("pulled")
            with timed(tally, clock, "pull"):
                pull(replica, hub, lane, seqs, tally, progress)
            if tally.total("pulled") == pulled:
                break  # nothing came that could have queued a row here


def compare(replica: Replica, hub: Hub, clock: Clock, tally: Tally) -> None:
    """Hold both sides against each other, and repair what no cursor could find."""
    if tally.access == Access.OK:
        with timed(tally, clock, "digest"):
            verify(replica, hub, tally)


@contextmanager
def timed(tally: Tally, clock: Clock, phase: str) -> Iterator[None]:
    """Add how many milliseconds the body took to those of a phase; a clock set back adds none."""
    start_ms = clock.now_ms()
    try:
        yield
    finally:
        tally.ms[phase] = tally.ms.get(phase, 0) + max(0, clock.now_ms() - start_ms)
