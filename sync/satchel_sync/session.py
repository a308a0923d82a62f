"""One sync, phase by phase: start reading here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel_sync.phases.finish import finish
from satchel_sync.phases.handshake import handshake
from satchel_sync.phases.pull import pull
from satchel_sync.phases.push import push
from satchel_sync.phases.verify import verify
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.tally import Tally

Progress = Callable[[str, str, int, int], None]
"""Called with (phase, kind, done, of): rows for a push, change sequences for a pull."""


def silent(phase: str, kind: str, done: int, of: int) -> None:
    """A `Progress` that shows nothing."""


def sync(replica: Replica, hub: Hub, clock: Clock, progress: Progress = silent) -> dict[str, Any]:
    """Reconcile a replica with the hub, both ways, and return the report.

    The order of push and pull does not matter for the result, and a sync killed anywhere is taken
    up by the next one. Raises SyncError when the two may not talk at all.
    """
    tally = Tally()
    with timed(tally, clock, "handshake"):
        welcome = handshake(replica, hub, clock, tally)
    with timed(tally, clock, "push"):
        pushed = push(replica, hub, tally, progress)
    with timed(tally, clock, "pull"):
        pull(replica, hub, hub.bound() if pushed else welcome.seqs, tally, progress)
    with timed(tally, clock, "digest"):
        verify(replica, hub, tally)
    return finish(replica, hub, tally)


@contextmanager
def timed(tally: Tally, clock: Clock, phase: str) -> Iterator[None]:
    """Record how many milliseconds the body took."""
    start_ms = clock.now_ms()
    try:
        yield
    finally:
        tally.ms[phase] = clock.now_ms() - start_ms
