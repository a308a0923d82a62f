"""What of a transcript is kept already: turns are told apart by who said what when.

A host's file grows, is cut, compacted, rewound and copied; a turn's place in it says little. So a
turn is the one that is stored if role, text and time are the same, as often as it occurs. What is
left is new, and comes behind what is there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from satchel.capture.clean import Said
    from satchel.capture.dead import Dead

NOWHERE = 2**62
Same = Callable[["Held", "Said"], bool]
"""Whether a stored turn has the text of this one."""
There = Callable[[int, "Said"], bool | None]
"""Whether the row that this turn would be at an ordinal lives; None where there never was one."""
GAP_MAX = 64
"""Ordinals behind a known turn in which one that was forgotten is looked for first."""


class Held(NamedTuple):
    """A stored turn of the conversation that the caller sees."""

    id: str
    ordinal: int
    role: str | None
    said_at: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    changeable: int


@dataclass(slots=True)
class Plan:
    """What is to be done: turns to add, each with its ordinal; stored ones to correct."""

    new: deque[tuple[Said, int]] = field(default_factory=deque)
    grown: list[tuple[Held, Said]] = field(default_factory=list)
    """Turns whose count of tokens was not final when they were kept."""
    known: int = 0
    forgotten: int = 0
    """Turns that were deleted or forgotten here: they do not come back."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is to be written."""
        return not self.new and not self.grown


def plan(held: Sequence[Held], said: Sequence[Said], same: Same, there: There, dead: Dead) -> Plan:
    """Which of these turns, in the order of the file, are new."""
    matched = _matched(held, said, same)
    made = Plan()
    last, end = -1, max((one.ordinal for one in held), default=-1) + 1
    upper = _next_known(matched)
    for number, one in enumerate(said):
        found = matched[number]
        if found is not None:
            made.known += 1
            last = found.ordinal
            if _has_grown(found, one):
                made.grown.append((found, one))
            continue
        near = (at for at in _gap(last, upper[number]) if at not in dead.used)
        lost = next((at for at in near if there(at, one) is False), None)
        if lost is None:
            lost = dead.found(one, last, upper[number])
        if lost is not None:
            made.forgotten += 1
            dead.used.add(lost)
            last, end = lost, max(end, lost + 1)
            continue
        while there(end, one) is not None:
            end += 1  # the same words were forgotten there, at another time, or are another's now
        made.new.append((one, end))
        dead.note_new(one)
        last, end = end, end + 1
    return made


def _matched(held: Sequence[Held], said: Sequence[Said], same: Same) -> list[Held | None]:
    """For each turn the stored one that it is; each stored one once."""
    waiting: defaultdict[tuple[str | None, int | None], deque[Held]] = defaultdict(deque)
    for one in sorted(held, key=lambda one: (one.ordinal, one.id)):
        waiting[one.role, one.said_at].append(one)
    found: list[Held | None] = []
    for turn in said:
        candidates = waiting[turn.role, turn.said_at]
        match = next((one for one in candidates if same(one, turn)), None)
        if match is not None:
            candidates.remove(match)
        found.append(match)
    return found


def _next_known(matched: Sequence[Held | None]) -> list[int]:
    """For each turn the ordinal that it must lie below: that of the next known turn behind it."""
    upper, bounds = NOWHERE, list[int]()
    for one in reversed(matched):
        bounds.append(upper)
        upper = one.ordinal if one is not None else upper
    return bounds[::-1]


def _gap(last: int, upper: int) -> range:
    """The ordinals that a turn between these two can have had; at the end there is only one."""
    return range(last + 1, last + 2 if upper == NOWHERE else min(upper, last + 1 + GAP_MAX))


def _has_grown(held: Held, said: Said) -> bool:
    now = (said.columns["tokens_in"], said.columns["tokens_out"], said.columns["cost"])
    then = (held.tokens_in, held.tokens_out, held.cost)
    return bool(held.changeable) and any(
        new is not None and (old is None or new > old) for new, old in zip(now, then, strict=True)
    )
