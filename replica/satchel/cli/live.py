"""`satchel sync --every 2s`: a machine that stays in touch with its warehouse until it is ended."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from typing import Any

from satchel.cli.door import Door
from satchel.cli.every import Stop, Stopped, is_lasting, tell
from satchel.cli.progress import progress
from satchel.errors import is_typed
from satchel.periodic import RealClocks, follow
from satchel.syncing.live import LiveSync
from satchel_sync.progress import silent

RECONCILE_DUE = 12
"""Exit code of a report after which the next turn would only compare everything once more."""


def sync_live(door: Door, period_s: float) -> int:
    """Turn by turn, with a line on stdout for each attempt that ended; 0 after SIGTERM.

    A warehouse that goes away is one line on stderr, and none more until it is back. Raises what no
    later turn could mend: a setting or a program that is missing.
    """
    stop = Stop()
    with stop.listening(), closing(LiveSync(door.settings)) as live:
        turns = Turns(door, live, stop)
        try:
            follow(turns.once, live.written, period_s, RealClocks(stop.pause))
        except Stopped:
            turns.end()
            return 0
    raise AssertionError("unreachable: only an error ends the loop")


class Turns:
    """The turns of one live sync, and what is told of them."""

    def __init__(self, door: Door, live: LiveSync, stop: Stop) -> None:
        self._door = door
        self._live = live
        self._stop = stop
        self._first = True
        self._trouble = ""

    def once(self, now_s: float) -> bool:
        """One turn; whether it got on."""
        bars = progress(self._door) if self._first else nullcontext(silent)
        self._first = False
        try:
            with bars as step:
                report = self._live.turn(now_s, self._stop.watched(step))
        except Stopped:
            raise
        except Exception as error:
            if not is_typed(error) or is_lasting(error):
                raise
            self._failed(error)
            return False
        if self._trouble and not self._door.json:
            self._door.note(f"{time.strftime('%H:%M:%S')} the warehouse answers again")
        self._trouble = ""
        return self._told(report)

    def end(self) -> None:
        """Close what is open; a warehouse that is away now is told as ever, and stops nothing."""
        try:
            self._told(self._live.end(time.monotonic()))
        except Exception as error:
            if not is_typed(error):
                raise
            self._failed(error)

    def _told(self, report: dict[str, Any] | None) -> bool:
        if report is None:
            return True
        self._door.answer(report, changed=True)
        return int(report["exit"]) != RECONCILE_DUE

    def _failed(self, error: Exception) -> None:
        code = str(getattr(error, "code", type(error).__name__))
        if code != self._trouble:
            tell(self._door, error)
        self._trouble = code
