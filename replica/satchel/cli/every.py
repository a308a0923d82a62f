"""`satchel sync --every 1h`: syncs in the foreground until somebody ends it."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from satchel import duration
from satchel.cli import failures
from satchel.cli.door import Door
from satchel.cli.progress import Step, progress
from satchel.errors import EngineUnavailable, InvalidInput, describe, is_typed
from satchel.periodic import RealClocks, repeat
from satchel_sync.errors import SyncError

WRONG_USAGE = 2
LIVE_S_MIN = 1
LIVE_BELOW_S = 60
"""A whole sync costs the warehouse too much to be made several times a minute."""
GRACE_S = 5.0
"""So long a sync may go on to its next border after SIGTERM: a silent warehouse has none."""
STOPPABLE = frozenset({"push", "pull", "reconcile"})
"""Phases that may end between two chunks: what is left is taken up by the next sync."""

Sync = Callable[[Step], dict[str, Any]]


class Stopped(SyncError):
    """SIGTERM came: this sync ends at the next border between two chunks, or where it waits."""

    code = "sync_stopped"
    exit_code = 10


class Stop:
    """Whether SIGTERM came. A pause is left at once, a sync at a border, or after `grace_s`.

    What is cut off after that is as whole as after Ctrl-C: both sides move in transactions.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.asked = False
        self._pausing = False
        self._overdue = False
        self._grace_s = grace_s

    def pause(self, seconds: float) -> None:
        """Sleep. Raises Stopped as soon as SIGTERM comes, or if it came before."""
        self._pausing = True
        try:
            self.check()
            time.sleep(seconds)
        finally:
            self._pausing = False

    def check(self) -> None:
        """Raise Stopped when SIGTERM came."""
        if self.asked:
            raise Stopped("ended by SIGTERM; the next sync goes on from here")

    def watched(self, step: Step) -> Step:
        """`step`, which now also ends the sync between two chunks."""

        def stepped(phase: str, kind: str, done: int, of: int) -> None:
            step(phase, kind, done, of)
            if phase in STOPPABLE:
                self.check()

        return stepped

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Heed SIGTERM while the body runs. To be called from the main thread."""
        self._alarm = threading.Timer(self._grace_s, self._cut)
        self._alarm.daemon = True
        before = signal.signal(signal.SIGTERM, self._heard)
        try:
            yield
        finally:
            self._alarm.cancel()
            signal.signal(signal.SIGTERM, before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        first, self.asked = not self.asked, True
        if self._pausing:
            self.check()
        if self._overdue:
            self._overdue = False
            self.check()
        if first:
            self._alarm.start()

    def _cut(self) -> None:
        """Let the main thread hear once more, wherever it is now."""
        self._overdue = True
        _thread.interrupt_main(signal.SIGTERM)


def sync_every(door: Door, every: str, sync: Sync, *, adopt: bool) -> int:
    """Sync now and then every so often; 0 after SIGTERM. Ctrl-C is the caller's to heed.

    In periods below a minute the machine stays in touch instead (`satchel.cli.live`).

    A sync that fails is one line on stderr, and the next comes when it would have come anyway.
    Raises InvalidInput, and what no later sync could mend: a setting or a program that is missing.
    """
    period_s = duration.seconds(every, field="every", least_s=LIVE_S_MIN)
    if adopt:
        raise InvalidInput(
            "--adopt is for one sync: with --every it would take any hub for the right one",
            hint="run `satchel sync --adopt` once, then `satchel sync --every`",
            field="adopt",
        )
    if period_s < LIVE_BELOW_S:
        from satchel.cli.live import sync_live

        return sync_live(door, period_s)
    stop = Stop()
    with stop.listening():
        try:
            repeat(lambda: _once(door, sync, stop), period_s, RealClocks(stop.pause))
        except Stopped:
            return 0
    raise AssertionError("unreachable: only an error ends the loop")


def _once(door: Door, sync: Sync, stop: Stop) -> None:
    try:
        with progress(door) as step:
            report = sync(stop.watched(step))
    except Stopped:
        raise
    except Exception as error:
        if not is_typed(error) or is_lasting(error):
            raise
        tell(door, error)
    else:
        door.answer(report, changed=True)
    stop.check()


def is_lasting(error: Exception) -> bool:
    """Whether the same process would meet the same error for ever: settings are read once."""
    return getattr(error, "exit_code", 0) == WRONG_USAGE or isinstance(error, EngineUnavailable)


def tell(door: Door, error: Exception) -> None:
    """One line on stderr, also at a terminal, where a table of every hour would scroll away."""
    if door.json:
        failures.report(error, as_json=True, verbose=False)
    else:
        shown = describe(error)
        said = " ".join(f"{shown['code']}: {shown['message']}".split())
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {said}\n")
    sys.stderr.flush()
