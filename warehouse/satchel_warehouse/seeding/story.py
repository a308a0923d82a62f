"""Everything that happened in the organisation, in about the order in which it did: start here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from satchel_sync.tables import Memory, Task
from satchel_warehouse.seeding.cast import Cast
from satchel_warehouse.seeding.conversations import Conversations
from satchel_warehouse.seeding.facts import Facts
from satchel_warehouse.seeding.made import Made
from satchel_warehouse.seeding.work import Work

CONVERSATIONS, WORKS = 0.07, 0.05
"""Of all stories; the others are facts. By rows, that is about a third each of memories with their
vectors and past, of turns, and of all else."""
KNOWN_ABOUT = 100_000
"""Of so many rows every memory is kept in mind, of more as many as of so many."""


class Known(NamedTuple):
    """A memory that audit records and conflicts may name, or a task of a conflict."""

    key: str
    at: int
    machine: int


class Story:
    """The organisation's rows; `known` (memories) and `tasks` fill while they are made."""

    def __init__(self, cast: Cast, rows: int) -> None:
        """So many rows: no more, no fewer."""
        self.cast, self.rows = cast, rows
        self.known, self.tasks = list[Known](), list[Known]()

    def told(self) -> Iterator[Made]:
        """Every row, in the one version that the hub is to hold."""
        return islice(self._endless(), self.rows)

    def _endless(self) -> Iterator[Made]:
        draw, done, memories = self.cast.draw("story"), 0, 0
        every = max(1, self.rows // KNOWN_ABOUT)
        facts = Facts(self.cast, self.cast.draw("facts"))
        talks = Conversations(self.cast, self.cast.draw("conversations"))
        work = Work(self.cast, self.cast.draw("work"))
        for one in self.cast.opening():
            yield one
            done += 1
        while True:
            at, turn = self.cast.moment(draw, done / self.rows), draw.share()
            teller = talks if turn < CONVERSATIONS else work if turn > 1 - WORKS else facts
            for one in teller.story(at):
                yield one
                done += 1
                memories += isinstance(one.row, Memory)
                if isinstance(one.row, Memory) and memories % every == 0:
                    self.known.append(Known(one.row.id, one.at, one.machine))
                elif isinstance(one.row, Task) and len(self.tasks) < KNOWN_ABOUT:
                    self.tasks.append(Known(one.row.id, one.at, one.machine))
