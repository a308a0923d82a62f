"""Where a turn was that is dead now: told by its id, which follows from its words and its place.

A dead row says neither which conversation it was of nor where it was or when. So the ordinals are
tried that nothing is stored at, by all that a file may have become: shorter, compacted, rewound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from satchel.capture.plan import NOWHERE

if TYPE_CHECKING:
    from satchel.capture.clean import Said
    from satchel.capture.plan import Held

TRIED_MAX = 400_000
"""Ids that are made for one plan, some microseconds each; what is left is looked for near only."""


@dataclass
class Dead:
    """The dead turns that a transcript may hold; each is met once."""

    held: Sequence[Held]
    key: Callable[[int, Said], str]
    """The id of a turn at an ordinal."""
    read: Callable[[], Collection[str]]
    """Reads the ids of all dead turns of the store."""
    used: set[int] = field(default_factory=set)
    tried: int = 0
    first_new_ms: int | None = None
    """When the earliest of the turns that were found to be new was said."""
    any_new: bool = False

    @cached_property
    def ids(self) -> Collection[str]:
        """The ids of all dead turns."""
        return self.read()

    @cached_property
    def last_ms(self) -> int | None:
        """When the latest stored turn was said."""
        return max((one.said_at for one in self.held if one.said_at is not None), default=None)

    def found(self, one: Said, last: int, upper: int) -> int | None:
        """At which ordinal this turn was. `last` and `upper` are as in `plan`.

        The same words said later are no dead turn: what is said after all that is stored was not
        in a gap of it, and not at its end if the file goes on with something new before.
        """
        if not self.ids:
            return None
        for ordinal in self._ordinals(one, last, upper):
            self.tried += 1
            if self.tried > TRIED_MAX:
                return None
            if ordinal not in self.used and self.key(ordinal, one) in self.ids:
                return ordinal
        return None

    def note_new(self, one: Said) -> None:
        """This turn is new: nothing that is said later was there when others were captured."""
        self.any_new = True
        times = (at for at in (self.first_new_ms, one.said_at) if at is not None)
        self.first_new_ms = min(times, default=None)

    def _ordinals(self, one: Said, last: int, upper: int) -> Iterator[int]:
        at = one.said_at
        if at is None:  # only the order of the file tells
            gaps = (gap for gap, _ in self._gaps)
            between = chain.from_iterable(gaps)
            yield from (ordinal for ordinal in between if last < ordinal < upper)
        else:
            is_later = self.last_ms is None or at > self.last_ms
            yield from chain.from_iterable(
                gap for gap, in_order in self._gaps if not (is_later and in_order)
            )
            if not is_later:
                yield from self._taken(at)
                yield from self._behind
                return
        if upper == NOWHERE and not self._is_behind_new(at):
            yield from self._behind

    def _is_behind_new(self, at: int | None) -> bool:
        if at is None or self.first_new_ms is None:
            return self.any_new
        return at > self.first_new_ms

    @cached_property
    def _gaps(self) -> list[tuple[range, bool]]:
        """Ordinals between stored ones, and whether those were said in this order.

        A capture leaves no ordinal out, so a gap has no more of them than there are dead turns.
        """
        most = len(self.ids)
        found = list[tuple[range, bool]]()
        stored = sorted(self.held, key=lambda one: one.ordinal)
        places = [(-1, None), *((one.ordinal, one.said_at) for one in stored)]
        for (low, since), (high, until) in pairwise(places):
            in_order = since is None or until is None or since <= until
            if high - low > 1:
                found.append((range(low + 1, min(high, low + 1 + most)), in_order))
        return found

    def _taken(self, at: int) -> range:
        """Ordinals where it can have been and something said later is: it was the end then."""
        stored, latest = self._latest
        number = bisect_left(latest, at)
        start = stored[number] if number < len(stored) else self._behind.start
        return range(start, min(start + len(self.ids), self._behind.start))

    @cached_property
    def _latest(self) -> tuple[list[int], list[int]]:
        """Ordinals that something is stored at; when the latest up to each of them was said."""
        stored = sorted((one.ordinal, one.said_at or 0) for one in self.held)
        return [ordinal for ordinal, _ in stored], list(accumulate((at for _, at in stored), max))

    @cached_property
    def _behind(self) -> range:
        """Ordinals behind all that is stored."""
        end = max((one.ordinal for one in self.held), default=-1) + 1
        return range(end, end + len(self.ids))
