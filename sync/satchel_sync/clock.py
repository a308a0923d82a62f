"""The hybrid logical clock: 48 bits of UTC milliseconds and a 16-bit counter in one int64.

Kulkarni et al., "Logical Physical Clocks" (2014); the counter carries into the milliseconds.
"""

from __future__ import annotations

AHEAD_MS_MAX = 5 * 60 * 1000
"""A stamp this far ahead of the wall does not move a clock, and a hub refuses it."""
OFFSET_WARN_MS = 30_000
"""A clock offset that a sync warns about."""


def pack(wall_ms: int, counter: int = 0) -> int:
    """An hlc from milliseconds and counter."""
    return (wall_ms << 16) + counter


HLC_MAX = pack(64_060_588_800_000)
"""The year 4000: a higher stamp is nobody's clock, and would leave no room to stamp above it."""


def wall_ms(hlc: int) -> int:
    """The milliseconds of an hlc."""
    return hlc >> 16


def tick(now_ms: int, last: int, held: int = 0) -> int:
    """The next stamp: above this machine's last and the row's own, never below the wall.

    A stamp at or over `HLC_MAX` counts as none: nothing could be above it.
    """
    known = [hlc + 1 for hlc in (last, held) if hlc < HLC_MAX]
    return min(max([pack(now_ms), *known]), HLC_MAX)


def observe(now_ms: int, last: int, remote: int) -> int:
    """The clock after a remote stamp was seen; one too far ahead of the wall leaves it alone."""
    return max(last, remote) if remote <= nearest_future(now_ms) else last


def nearest_future(now_ms: int) -> int:
    """The highest stamp that moves a clock."""
    return min(pack(now_ms + AHEAD_MS_MAX), HLC_MAX - 1)
