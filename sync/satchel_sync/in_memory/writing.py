"""What the user of a replica in memory does: write, delete, forget, restore an old content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satchel_sync import clock as hlc_clock
from satchel_sync.changes import Loser, Row
from satchel_sync.digest import row_digest
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.rows import about
from satchel_sync.ports import Clock
from satchel_sync.stamp import (
    CREATED,
    SCRUBBED,
    Stamp,
    crosses_end,
    extend,
    next_end,
    next_generation,
)
from satchel_sync.subjects import scrubbed, subjects
from satchel_sync.tables import BY_NAME, Table, Value


class Writing:
    """Writes to a file, stamped by its clock."""

    file: File
    clock: Clock

    def put(self, table: Table, key: str, values: Sequence[Value]) -> Row:
        """Write a row as a user would: create, edit, or (over a tombstone) restore.

        A row about a forgotten one is kept as scrubbed. Raises ValueError for a forgotten row.
        """
        held = self.file.kinds[table.name].rows.get(key)
        if held is not None and held.values == tuple(values):
            return held
        if held is not None and held.stamp == SCRUBBED:
            raise ValueError(f"{table.name} {key} was forgotten for good")
        return self._stamp(table, key, tuple(values), _life(table, held, values))

    def delete(self, table: Table, key: str) -> Row:
        """Make a tombstone; deleting one again changes nothing."""
        held = self.file.kinds[table.name].rows[key]
        if held.stamp.dead:
            return held
        life = next_generation(held.stamp.life)
        return self._stamp(table, key, (None,) * len(held.values), life)

    def forget(self, table: Table, key: str) -> Row:
        """Scrub a row, what is about it, and its journal entries; for good."""
        row = scrubbed(table, key)
        self.file.hold(table.name, row)
        scrub(self.file, table, key, mine=True)
        return row

    def damage(self, table: Table, key: str, values: Sequence[Value]) -> None:
        """Write past the triggers: other content in the same version."""
        rows = self.file.kinds[table.name].rows
        rows[key] = replace(rows[key], values=tuple(values))

    def _stamp(self, table: Table, key: str, values: tuple[Value, ...], life: int) -> Row:
        kept = self.file.kinds[table.name]
        held = kept.rows.get(key)
        self.file.last_hlc = hlc_clock.tick(
            self.clock.now_ms(), self.file.last_hlc, held.stamp.hlc if held else 0
        )
        lineage = held.lineage if held else ""
        if held is not None and kept.bases.get(key) == held.stamp:
            lineage = extend(lineage, held.stamp)
        digest = row_digest(table, key, values)
        stamp = Stamp(life, self.file.last_hlc, self.file.replica_id, digest)
        row = Row(key, stamp, lineage, values)
        if is_about_forgotten(self.file, table, row):
            row = scrubbed(table, key)
        self.file.hold(table.name, row)
        return row


def _life(table: Table, held: Row | None, values: Sequence[Value]) -> int:
    if held is None:
        return CREATED
    if held.stamp.dead:
        return next_generation(held.stamp.life)
    at = table.names.index("status") if table.name == "task" else None
    ends = at is not None and crosses_end(_text(held.values[at]), _text(values[at]))
    return next_end(held.stamp.life) if ends else held.stamp.life


def scrub(file: File, table: Table, key: str, *, mine: bool = False) -> None:
    """Scrub what is about a forgotten row, and the journal of both.

    What was still to be sent is sent as scrubbed, and all of it if it was forgotten here; the rest
    the hub scrubs by itself.
    """
    for place, loser in tuple(file.losers.items()):
        named = subjects(BY_NAME[loser.kind], loser.row)
        if place[:2] == (table.name, key) or (table.name, key) in named:
            del file.losers[place]
            file.losers_sent.discard(place)
    for other, one in about((kept.rows for kept in file.kinds.values()), table.name, key):
        kept = file.kinds[other.name]
        if kept.rows[one].stamp == SCRUBBED:
            continue
        if mine or kept.unsent(one):
            file.hold(other.name, scrubbed(other, one))
        else:
            kept.rows[one] = scrubbed(other, one)
        scrub(file, other, one, mine=mine)


def is_about_forgotten(file: File, table: Table, row: Row) -> bool:
    """Whether what a row is about was forgotten."""
    named = (file.kinds[kind].rows.get(key) for kind, key in subjects(table, row))
    return any(one is not None and one.stamp == SCRUBBED for one in named)


def lose(file: File, table: Table, row: Row, winner: Stamp, path: str, at_ms: int) -> bool:
    """Journal a version that lost, once and unless it was forgotten; whether it is new."""
    place = (table.name, row.key, row.stamp)
    held = file.kinds[table.name].rows.get(row.key)
    gone = held is not None and held.stamp == SCRUBBED
    if place in file.losers or gone or is_about_forgotten(file, table, row):
        return False
    file.losers[place] = Loser(table.name, row, winner, path, at_ms)
    return True


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None
