"""A row that was made up, and the version under which the hub is to hold it."""

from __future__ import annotations

from typing import Any, NamedTuple

from satchel_sync.stamp import CREATED


class Made(NamedTuple):
    """A synced row: `row` is a dataclass of `satchel_sync.tables`, `at` when it got this version.

    `machine` counts from 0. `life` and `lineage` as in a version; `rank` sets apart versions that
    were made in one millisecond. A scrubbed row has a version of its own.
    """

    row: Any
    at: int
    machine: int
    life: int = CREATED
    lineage: str = ""
    rank: int = 0
    scrubbed: bool = False
