"""How SQLite brings a commit to the disk: what a durability means in its terms."""

from __future__ import annotations

import sys
from typing import Literal


def pragmas(
    durability: Literal["full", "process"], platform: str = sys.platform
) -> tuple[str, ...]:
    """The settings of a connection whose commits outlast a power cut (`full`), or a killed process.

    On macOS fsync(2) leaves bytes in the drive's cache, and a full flush has to be asked for, also
    to keep the order that recovery relies on: https://sqlite.org/pragma.html#pragma_fullfsync
    """
    synchronous = "synchronous = FULL" if durability == "full" else "synchronous = NORMAL"
    if platform != "darwin":
        return (synchronous,)
    of_commits = ("fullfsync = ON",) if durability == "full" else ()
    return (synchronous, *of_commits, "checkpoint_fullfsync = ON")
