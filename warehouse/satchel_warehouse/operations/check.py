"""One check of a warehouse: what was found, why that matters, how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """As `satchel doctor` has them: `fail` is broken or unsafe, `warn` will be, or may be."""

    name: str
    ok: Verdict
    found: str
    why: str = ""
    fix: str = ""


def ok(name: str, found: str) -> Check:
    """Nothing to do."""
    return Check(name=name, ok="ok", found=found)


def warn(name: str, found: str, why: str, fix: str) -> Check:
    """Look at it in these days."""
    return Check(name=name, ok="warn", found=found, why=why, fix=fix)


def fail(name: str, found: str, why: str, fix: str) -> Check:
    """Mend it now."""
    return Check(name=name, ok="fail", found=found, why=why, fix=fix)


def days(age_ms: int) -> str:
    """An age in words."""
    hours = age_ms // 3_600_000
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"
