"""Waiting for something to come, of whatever process or sync: the long poll of an event loop.

SQLite wakes nobody, but tells at once, without reading a page, whether another connection
committed since (`PRAGMA data_version`). So a wait costs next to nothing, and ends within a 20th
of a second. What comes with time, as the end of a lease, is looked for each second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from satchel.store import limit

if TYPE_CHECKING:
    from satchel.replica import Replica

STEP_S = 0.05
"""How often it is asked whether anything was committed."""
LOOK_S = 1.0
"""How often it is looked all the same."""

Found = TypeVar("Found")


def until(replica: Replica, look: Callable[[], Found | None], wait_ms: int) -> Found | None:
    """What `look` finds, looked for after each commit; None when the time is over.

    It is looked at least once. No transaction is open in between, so nobody waits for the waiting.
    Before each look it is asked whether the caller is still there and still allowed: what is taken
    by a look is taken for somebody. Raises TimedOut, Refused.
    """
    end = time.monotonic() + wait_ms / 1000
    while True:
        limit.ask()
        version = _version(replica)
        found = look()
        if found is not None or time.monotonic() >= end:
            return found
        _sleep(replica, version, min(end, time.monotonic() + LOOK_S))


def _sleep(replica: Replica, version: int, end: float) -> None:
    """Return when somebody has committed since `version`, or at `end` (monotonic seconds).

    Raises TimedOut when the call that waits is told to stop.
    """
    while (left := end - time.monotonic()) > 0:
        limit.check()
        time.sleep(min(STEP_S, left))
        if _version(replica) != version:
            return


def _version(replica: Replica) -> int:
    with replica.store.read() as db:
        return int(db.execute("PRAGMA data_version").get)
