"""The report of one sync, as it grows: counts by kind, times by phase, events in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from satchel_sync.tables import TABLES

COUNTS = ("sent", "accepted", "superseded", "quarantined", "pulled", "applied")
QUARANTINED_EXIT = 11
FAILED_EXIT = 1


@dataclass
class Tally:
    """What a sync did so far. `kinds` has every row kind with the six `COUNTS`."""

    kinds: dict[str, dict[str, int]] = field(
        default_factory=lambda: {table.name: dict.fromkeys(COUNTS, 0) for table in TABLES}
    )
    ms: dict[str, int] = field(default_factory=dict)
    conflicts: int = 0
    restamped: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    clock_offset_ms: int = 0
    digest: str = "later"
    identity: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    cursor: dict[str, int] = field(default_factory=dict)
    held_back: int = 0

    def add(self, kind: str, **counts: int) -> None:
        """Add to the counts of a kind."""
        for name, count in counts.items():
            self.kinds[kind][name] += count

    def total(self, name: str) -> int:
        """One count over all kinds."""
        return sum(counts[name] for counts in self.kinds.values())

    @property
    def exit(self) -> int:
        """0 clean, 11 rows are quarantined, 1 a kind failed, sides still differ or rows wait."""
        if self.failed or self.digest == "different":
            return FAILED_EXIT
        return QUARANTINED_EXIT if self.held_back else 0

    def report(self) -> dict[str, Any]:
        """The JSON answer of `satchel sync`."""
        return {
            "ok": self.exit == 0,
            "exit": self.exit,
            "kinds": self.kinds,
            "conflicts": self.conflicts,
            "restamped": self.restamped,
            "quarantined": self.held_back,
            "bytes_out": self.bytes_out,
            "bytes_in": self.bytes_in,
            "ms": self.ms,
            "clock_offset_ms": self.clock_offset_ms,
            "noop": not (self.total("sent") or self.total("pulled") or self.restamped),
            "digest": self.digest,
            "identity": self.identity,
            "failed": self.failed,
            "cursor": self.cursor,
        }
