"""A check of the doctor: what was found, why that matters, how to mend it, what `--fix` can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel.doctor.subjects import SUBJECTS
from satchel.errors import describe, is_typed

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """What `--fix` does: `run` returns what it did, in words; where it `removes` it is confirmed.

    It only touches what is derived or left over, or who may read a file: never a memory.
    """

    does: str
    run: Callable[[], str] = field(repr=False, compare=False)
    removes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check. Of what is not well `why` and `fix` are never empty: else the subject's words."""

    name: str
    ok: Verdict
    found: str
    why: str = ""
    fix: str = ""
    mends: tuple[Mend, ...] = ()
    """Each by itself: one that is not confirmed, or fails, keeps no other from being done."""
    brief: str = ""
    """What a terminal shows for `found` where all is well; "" for the same."""
    fixed: str | None = None
    """What `--fix` did about it, or why it did not; None where it had nothing to do."""

    def __post_init__(self) -> None:
        """Complete a row that is not frozen yet; what is well needs no why and no fix."""
        subject, bad = SUBJECTS[self.name], self.ok != "ok"
        object.__setattr__(self, "why", (self.why or subject.why) if bad else "")
        object.__setattr__(self, "fix", (self.fix or subject.fix) if bad else "")

    @property
    def fixable(self) -> bool:
        """Whether `--fix` can do something about it."""
        return bool(self.mends)

    def as_dict(self) -> dict[str, Any]:
        """As the doors show it."""
        shown = {
            "name": self.name,
            "ok": self.ok,
            "what": SUBJECTS[self.name].what,
            "found": self.found,
            "why": self.why,
            "fix": self.fix,
            "fixable": self.fixable,
        }
        return shown if self.fixed is None else shown | {"fixed": self.fixed}


def failed(name: str, error: BaseException, *, ok: Verdict = "fail") -> Check:
    """What could not be looked at, or said itself what is wrong with it."""
    if isinstance(error, Exception) and is_typed(error):
        shown = describe(error)
        return Check(name=name, ok=ok, found=shown["message"], fix=shown["hint"])
    words = f": {error}" if str(error) else ""
    return Check(name=name, ok=ok, found=f"{type(error).__name__}{words}")
