"""A memory system in plain Python, by the sentences of docs on two times: the oracle of its tests.

Nothing of satchel is used here but the versions that decide which of two rows wins a merge. Times
are small whole numbers of milliseconds; None is an open end, and in a question "now".
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

Stamp = tuple[int, int, bytes, bytes]


class Refusal(Exception):
    """The oracle's word for an operation that must be refused, by the code of the error."""


@dataclass
class Fact:
    """One memory: since when it is known, when it was true, and what was believed of its end."""

    recorded_at: int
    starts: int
    ends: int | None = None
    """As it is believed now."""
    ended_before: int | None = None
    """As it was believed before `retired_at`."""
    retired_at: int | None = None
    expires_at: int | None = None
    replaces: str | None = None
    deleted: bool = False
    stamp: Stamp | None = None

    def answers(self, now: int, true_at: int | None, known_at: int | None) -> bool:
        """Whether a question about `true_at`, as it was known at `known_at`, finds it."""
        if self.deleted:
            return False
        present = now
        if known_at is None:  # whatever is here is known, and its own stamps are not the future
            present = max(now, self.recorded_at, self.retired_at or now)
        elif self.recorded_at > known_at:
            return False
        asked_at = now if known_at is None else known_at
        if self.expires_at is not None and self.expires_at <= asked_at:
            return False
        instant = present if true_at is None else true_at
        ends = self.ends
        if known_at is not None and self.retired_at is not None and known_at < self.retired_at:
            ends = self.ended_before
        return self.starts <= instant and (ends is None or instant < ends)


@dataclass
class Oracle:
    """What one machine holds."""

    facts: dict[str, Fact] = field(default_factory=dict)

    def found(self, now: int, true_at: int | None, known_at: int | None) -> set[str]:
        """The memories that answer."""
        return {key for key, one in self.facts.items() if one.answers(now, true_at, known_at)}

    def write(self, key: str, now: int, starts: int | None, expires_at: int | None) -> None:
        """A new memory, true from `starts` on."""
        at = now if starts is None else starts
        self.facts[key] = Fact(recorded_at=now, starts=at, expires_at=expires_at)

    def can_supersede(self, key: str) -> None:
        """Raise Refusal where there is nothing to supersede, or somebody was faster."""
        if self.facts[key].deleted:
            raise Refusal("not_found")
        if self.facts[key].retired_at is not None:
            raise Refusal("conflict")

    def supersede(self, key: str, new: str, now: int, starts: int | None) -> None:
        """From `starts` on the new memory is true; the old one ends there, if not earlier."""
        old, at = self.facts[key], now if starts is None else starts
        end = max(at, old.starts)
        old.ended_before, old.retired_at = old.ends, now
        old.ends = end if old.ends is None else min(end, old.ends)
        self.facts[new] = Fact(recorded_at=now, starts=at, replaces=key)

    def update(
        self, key: str, *, starts: int | None, ends: int | None, expires_at: int | None
    ) -> None:
        """Correct what is given, in place: nobody can ask what was believed before."""
        fact = self.facts[key]
        if fact.deleted:
            raise Refusal("not_found")
        new_start = fact.starts if starts is None else starts
        new_end = fact.ends if ends is None else ends
        if (starts, ends) != (None, None) and new_end is not None and new_start > new_end:
            raise Refusal("invalid_input")
        fact.starts, fact.ends = new_start, new_end
        fact.expires_at = fact.expires_at if expires_at is None else expires_at

    def delete(self, key: str) -> None:
        """It answers nothing any more."""
        if self.facts[key].deleted:
            raise Refusal("not_found")
        self.facts[key].deleted = True

    def restore(self, key: str, now: int) -> None:
        """A deleted memory is back as it was; a superseded one is as before, and what came after
        it was never so."""
        fact = self.facts[key]
        if fact.deleted:
            fact.deleted = False
            replaced = self.facts.get(fact.replaces or "")
            if replaced and not replaced.deleted and replaced.retired_at is None:
                fact.replaces = None  # that was undone meanwhile: both stand
            return
        if fact.retired_at is None:
            return
        for later in self._after(key):
            if later.retired_at is None:
                later.ended_before, later.retired_at = later.ends, now
            later.ends, later.replaces = later.starts, None
        fact.ends, fact.ended_before, fact.retired_at = fact.ended_before, None, None

    def merged(self, other: Oracle) -> Oracle:
        """What both hold after they met: of each memory the version that wins."""
        found = deepcopy(self.facts)
        for key, theirs in other.facts.items():
            mine = found.get(key)
            if mine is None or (mine.stamp or ()) < (theirs.stamp or ()):
                found[key] = deepcopy(theirs)
        return Oracle(found)

    def _after(self, key: str) -> list[Fact]:
        """The living memories that replaced this one, directly or through others."""
        found: dict[str, Fact] = {}
        ring = [key]
        while ring:
            ring = [
                name
                for name, one in self.facts.items()
                if one.replaces in ring and not one.deleted and name not in found and name != key
            ]
            found |= {name: self.facts[name] for name in ring}
        return list(found.values())
