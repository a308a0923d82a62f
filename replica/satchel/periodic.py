"""When the next of many syncs is due: a period with jitter, never a burst, whatever clocks do.

Two clocks are looked at. The steady one never jumps and may stand still while the machine sleeps;
by it a pause is as long as it was meant to be. The wall clock may jump; that it has passed the due
time while the steady one has not means that the machine slept, or that somebody set the clock. Then
the next sync comes soon, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from satchel_crypto import random_bytes

JITTER = 0.1
"""A pause is the period, give or take this share of it."""
SETTLE_S = 15.0
"""After a sleep the network needs a moment; a sync in it would fail for nothing."""
LOOK_S = 30.0
"""How often a long pause looks at the wall clock."""
GLANCE_S = 0.1
"""How often it is looked whether somebody wrote, so that many writes are one turn."""
AWAY_S_MAX = 60.0
"""A warehouse that is away is asked so often at least whether it is back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What two clocks show, in seconds since whenever each of them began."""

    steady_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """When the next sync is due, by both clocks; `wall_s` is None once the wall has been heeded."""

    steady_s: float
    wall_s: float | None

    def left_s(self, now: Moment) -> float:
        """Seconds to wait, zero or less when it is time. The steady clock alone decides."""
        return self.steady_s - now.steady_s

    def looked(self, now: Moment) -> Due:
        """This, or soon when the wall clock alone says that it is time: at most once."""
        if self.wall_s is None or now.wall_s < self.wall_s or self.left_s(now) <= SETTLE_S:
            return self
        return Due(steady_s=now.steady_s + SETTLE_S, wall_s=None)


def due_after(ended: Moment, period_s: float, chance: float) -> Due:
    """The next sync after one that ended then, well or badly; `chance` is from 0 up to 1.

    The pause begins at the end of a sync: one that takes longer than the period is not followed by
    another at once.
    """
    pause_s = period_s * (1 + JITTER * (2 * chance - 1))
    return Due(steady_s=ended.steady_s + pause_s, wall_s=ended.wall_s + pause_s)


class Clocks(Protocol):
    """What the loop needs of the world."""

    def now(self) -> Moment:
        """What the two clocks show."""

    def sleep(self, seconds: float) -> None:
        """Pass that time; may raise what ends the loop."""

    def chance(self) -> float:
        """A random number from 0 up to 1."""


def repeat(once: Callable[[], None], period_s: float, clocks: Clocks) -> None:
    """Call `once` at once and then every `period_s`, until it or a pause raises."""
    while True:
        once()
        due = due_after(clocks.now(), period_s, clocks.chance())
        while (left_s := due.left_s(clocks.now())) > 0:
            clocks.sleep(min(left_s, LOOK_S))
            due = due.looked(clocks.now())


def follow(
    turn: Callable[[float], bool], written: Callable[[], bool], period_s: float, clocks: Clocks
) -> None:
    """Call `turn` with the steady seconds at once, every `period_s`, and when something is written.

    `turn` tells whether it got on; where it did not, the pauses grow and no write shortens them.
    Ends when one of the three, or a pause, raises.
    """
    failed = 0
    while True:
        failed = 0 if turn(clocks.now().steady_s) else failed + 1
        due = due_after(clocks.now(), away_s(period_s, failed), clocks.chance())
        while (left_s := due.left_s(clocks.now())) > 0:
            clocks.sleep(min(left_s, GLANCE_S))
            if not failed and written():
                break
            due = due.looked(clocks.now())


def away_s(period_s: float, failed: int) -> float:
    """The pause after so many turns in a row that failed: doubled each time, up to a bound."""
    return min(period_s * 2 ** min(failed, 16), max(AWAY_S_MAX, period_s)) if failed else period_s


@dataclass(frozen=True, slots=True)
class RealClocks:
    """This machine's clocks; `sleep` is how to pass time."""

    pause: Callable[[float], None] = time.sleep

    def now(self) -> Moment:
        """The monotonic clock and the wall clock."""
        return Moment(steady_s=time.monotonic(), wall_s=time.time())

    def sleep(self, seconds: float) -> None:
        """Pass that time."""
        self.pause(seconds)

    def chance(self) -> float:
        """From the system's generator, so that a fleet that was started at once spreads."""
        return int.from_bytes(random_bytes(4), "big") / 2**32
