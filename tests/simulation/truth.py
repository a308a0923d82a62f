"""What an all-knowing reader of a story knows: every write, and what it was built on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from satchel_sync.changes import Loser, Row
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.stamp import SCRUBBED, Stamp, lineage_of

Place = tuple[str, str]
"""(kind, key)."""


@dataclass(eq=False, slots=True)
class Write:
    """One write of a user: the version it made, and what it was made over (nothing: a new row).

    `lost`: all that carried it was destroyed by a restore, of a file or of the hub.
    """

    place: Place
    row: Row
    parents: tuple[Write, ...]
    lost: bool = False


@dataclass(slots=True)
class Truth:
    """All writes of a story, found by their version."""

    writes: dict[tuple[Place, Stamp], Write] = field(default_factory=dict)

    def wrote(self, kind: str, row: Row, before: Row | None) -> None:
        """Note a write; `before` is the row that its machine held."""
        place = (kind, row.key)
        parent = self.of(kind, before) if before is not None else None
        alike = self.writes.get((place, row.stamp))
        if alike is not None and alike.lost:  # a file put back may stamp a tombstone alike again
            alike.lost, alike.parents = False, (*alike.parents, *((parent,) if parent else ()))
        elif alike is None:
            self.writes[place, row.stamp] = Write(place, row, (parent,) if parent else ())

    def of(self, kind: str, row: Row) -> Write | None:
        """The write that a row is; one that was stamped anew has it in its lineage."""
        place = (kind, row.key)
        if found := self.writes.get((place, row.stamp)):
            return found
        for entry in lineage_of(row.lineage):
            if found := self.writes.get((place, Stamp.parse(entry))):
                return found
        return None

    def carried(self, hub: HubState, files: Iterable[File]) -> set[Write]:
        """Writes that a row or a journal entry anywhere is, or was built on."""
        found: set[Write] = set()
        for end in (hub, *files):
            for kind, row in rows_of(end):
                self._climb(found, self.of(kind, row))
                if row.stamp == SCRUBBED:  # in the place of whatever it was
                    found.update(w for w in self.writes.values() if w.place == (kind, row.key))
            for loser in end.losers.values():
                self._climb(found, self.of(loser.kind, loser.row))
        return found

    def deleted(self) -> set[Write]:
        """Writes that were deleted, or built on by one that was, by somebody who knew them."""
        found: set[Write] = set()
        for write in self.writes.values():
            if write.row.stamp.dead and not write.lost:
                self._climb(found, write)
        return found

    @staticmethod
    def _climb(found: set[Write], write: Write | None) -> None:
        above = [write] if write else []
        while above:
            one = above.pop()
            if one not in found:
                found.add(one)
                above += one.parents

    def is_false(self, loser: Loser) -> bool:
        """Whether a journal entry is of a version that its winner was built on."""
        mine = self.of(loser.kind, loser.row)
        built_on: set[Write] = set()
        self._climb(built_on, self.writes.get(((loser.kind, loser.row.key), loser.winner)))
        return mine in built_on


def rows_of(end: HubState | File) -> Iterable[tuple[str, Row]]:
    """(kind, row) of all that one side holds."""
    if isinstance(end, HubState):
        return ((kind, row) for kind, rows in end.rows.items() for row in rows.values())
    return ((kind, row) for kind, kept in end.kinds.items() for row in kept.rows.values())
