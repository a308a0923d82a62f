"""`satchel doctor` on hooks: what went wrong in them, which their hosts were told nothing of."""

from __future__ import annotations

import time
from pathlib import Path

from satchel.doctor.check import Check
from satchel.hooks import failures
from satchel.memory.moments import iso

KEPT_DAYS = 7
DAY_MS = 24 * 60 * 60 * 1000
_FIXES = {
    "hook_late": "search once: it makes the vectors anew; or raise recall.timeout_ms",
    "chatlog capture hook_late": "`satchel chatlog capture --all` keeps the rest; if it waits for"
    " ever, look at the files of its home",
    "hook_unreadable": "`satchel setup` writes the hooks of each host as they should be",
}


def hooks(home: Path) -> Check:
    """The failures of the last days, with the latest of them."""
    try:
        found = failures.listed(home, time.time_ns() // 1_000_000 - KEPT_DAYS * DAY_MS)
    except OSError as error:
        return Check(
            name="hooks",
            ok="warn",
            found=f"{home / failures.FAILURES_FILE}: {error.strerror or error}",
            fix="let this user read that file, or delete it",
        )
    if not found:
        return Check(name="hooks", ok="ok", found=f"no failure in {KEPT_DAYS} days")
    last = found[-1]
    return Check(
        name="hooks",
        ok="warn",
        found=f"{len(found)} failures in {KEPT_DAYS} days; the last at {iso(last.at)}, in"
        f" `{last.command}` for {last.host}: {last.message} ({last.code})",
        why="the host went on without what was remembered, or what was said there was not kept",
        fix=_FIXES.get(f"{last.command} {last.code}")
        or _FIXES.get(
            last.code, f"mend what it names; then delete {home / failures.FAILURES_FILE}"
        ),
    )
