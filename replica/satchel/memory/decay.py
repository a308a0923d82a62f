"""How a memory fades: half-lives by type, counted from when it last was new or of use. Pure.

A memory that was given to somebody on an earlier day is as fresh as on that day. Days, not reads:
asking often is no evidence, and a search answers the same all day long.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel.memory.search.candidates import Candidate

DAY_MS = 24 * 60 * 60 * 1000
HALF_LIFE_DAYS_DEFAULT = 30
HALF_LIFE_DAYS: Mapping[str, int] = {
    "working": 1,
    "task": 14,
    "plan": 14,
    "observation": 14,
    "episodic": 30,
    "conversation": 30,
    "summary": 60,
    "fact": 180,
    "semantic": 180,
    "belief": 90,
    "decision": 180,
    "preference": 365,
    "code": 90,
    "config": 180,
    "snippet": 180,
    "reference": 365,
    "procedure": 365,
    "procedural": 365,
}
"""Type -> days after which half of its freshness is gone; what is not here has the default."""

Given = tuple[int, int]
"""On how many days before today it was given, and when the last of them began (UTC ms)."""


def fresh(row: Candidate, given: Given | None, now_ms: int) -> float:
    """1 for what is new, was just of use, or is pinned; half of it each half-life; 0 unknown."""
    if row.pinned:
        return 1.0
    since = max(row.recorded_at_ms or 0, given[1] if given else 0)
    if not since:
        return 0.0
    half_life = HALF_LIFE_DAYS.get(row.type or "", HALF_LIFE_DAYS_DEFAULT) * DAY_MS
    return float(0.5 ** (max(now_ms - since, 0) / half_life))


def used(given: Given | None) -> float:
    """0 for what was never given, half of the rest more for each day on which it was."""
    return 1.0 - 0.5 ** given[0] if given else 0.0
