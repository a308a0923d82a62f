"""What an export wrote: counts by kind, what was left out and why, and the rows for the audit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LEFT_SHOWN_MAX = 100


@dataclass
class Report:
    """Counts as it goes."""

    kinds: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[str, str]] = field(default_factory=list)
    left: list[dict[str, str]] = field(default_factory=list)
    left_out: int = 0

    def count(self, kind: str, key: str | None) -> None:
        """A row was written; without a key the audit does not name it."""
        self.kinds[kind] += 1
        if key is not None:
            self.rows.append((kind, key))

    def leave(self, kind: str, key: object, fault: tuple[str | None, str]) -> None:
        """A row that cannot be told, as a write by hand may leave it."""
        self.left_out += 1
        if len(self.left) < LEFT_SHOWN_MAX:
            column, reason = fault
            told = {"kind": kind, "key": str(key)[:80], "column": column or "", "reason": reason}
            self.left.append(told)

    @property
    def exit_code(self) -> int:
        """0, or 1 where a row was left out."""
        return 1 if self.left_out else 0

    def as_dict(self) -> dict[str, Any]:
        """The answer's part of it."""
        return {
            "ok": not self.left_out,
            "rows": sum(self.kinds.values()),
            "kinds": dict(self.kinds),
            "left_out": self.left_out,
            "left": self.left,
        }
