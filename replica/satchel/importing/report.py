"""What came of an import, counted as it goes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel.importing.records import Fault, Place

Outcome = Literal["created", "exists", "updated", "kept", "deleted"]
"""`kept`: another version of the row is here and stays; `deleted`: it was deleted here."""
ERRORS_SHOWN_MAX = 100
WARNINGS_SHOWN_MAX = 20


@dataclass
class Report:
    """Counts by kind and outcome, the faults, the warnings."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    failed: int = 0
    warned: int = 0
    warnings: list[str] = field(default_factory=list)
    records: int = 0
    began: float = field(default_factory=time.perf_counter)

    def count(self, kind: str, outcome: Outcome, rows: int = 1) -> None:
        """Rows of a kind, and what became of them."""
        if rows:
            self.counts.setdefault(kind, Counter())[outcome] += rows

    def fail(self, fault: Fault) -> None:
        """A record that does not go in."""
        self.failed += 1
        if len(self.faults) < ERRORS_SHOWN_MAX:
            self.faults.append(fault)

    def warn(self, place: Place, warnings: list[str]) -> None:
        """What a writer may not have meant, of a record that goes in."""
        self.warned += len(warnings)
        where = ", ".join(f"{name} {value}" for name, value in place.as_dict().items())
        room = WARNINGS_SHOWN_MAX - len(self.warnings)
        self.warnings += [f"{where}: {warning}" for warning in warnings[:room]]

    def rows(self, outcome: Outcome) -> int:
        """How many rows came to that, of all kinds."""
        return sum(counts[outcome] for counts in self.counts.values())

    @property
    def exit_code(self) -> int:
        """0, or 1 where something did not go in."""
        return 1 if self.failed else 0

    def as_dict(self) -> dict[str, Any]:
        """The answer's part of it; errors and warnings beyond the first are counted only."""
        seconds = time.perf_counter() - self.began
        return {
            "ok": not self.failed,
            "records": self.records,
            "kinds": {kind: dict(counts) for kind, counts in self.counts.items()},
            "failed": self.failed,
            "errors": [fault.as_dict() for fault in self.faults],
            "warned": self.warned,
            "warnings": self.warnings,
            "took_ms": round(seconds * 1000),
            "records_per_s": round(self.records / seconds) if seconds else 0,
        }
