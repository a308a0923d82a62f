"""Which of two versions of a row stays. Pure: every endpoint and the simulation decide by this."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from satchel_sync.changes import Row, Version
from satchel_sync.stamp import LINEAGE_MAX, SCRUBBED, lineage_of
from satchel_sync.tables.kinds import Table, Value

UNJOURNALED_KINDS = frozenset({"embedding", "history"})
"""Derived or append-only: a version of these that lost is no loss."""
UNJOURNALED_COLUMNS = {"agent": frozenset({"last_seen"})}
"""Columns whose difference alone is no conflict."""


class Verdict(Enum):
    """What becomes of an incoming version."""

    NEW = "new"
    """No row was held."""
    SAME = "same"
    """This very version is held."""
    REPLACE = "replace"
    """It builds on the one held, or is final."""
    REPLACE_CONCURRENT = "replace concurrent"
    """It wins over a version that it had not seen."""
    KEEP = "keep"
    """The version held builds on it, or is final."""
    KEEP_CONCURRENT = "keep concurrent"
    """It loses against a version that it had not seen."""
    KEEP_BEATEN = "keep beaten"
    """It builds on the version held, yet compares lower (a re-stamp): its owner must lift it."""

    @property
    def replaces(self) -> bool:
        """Whether the incoming version is to be stored."""
        return self in (Verdict.NEW, Verdict.REPLACE, Verdict.REPLACE_CONCURRENT)

    @property
    def concurrent(self) -> bool:
        """Whether neither side had seen the other."""
        return self in (Verdict.REPLACE_CONCURRENT, Verdict.KEEP_CONCURRENT)


def decide(held: Version | None, incoming: Version) -> Verdict:
    """The verdict on `incoming` where `held` is stored: last write wins, with lineage.

    A version in the lineage of the row held never replaces it; scrubbed is final on either side.
    """
    if held is None:
        return Verdict.NEW
    if held.stamp == incoming.stamp:
        return Verdict.SAME
    if SCRUBBED in (held.stamp, incoming.stamp):
        return Verdict.KEEP if held.stamp == SCRUBBED else Verdict.REPLACE
    if incoming.stamp.hex() in held.lineage:
        return Verdict.KEEP
    newer = incoming.stamp > held.stamp
    if held.stamp.hex() in incoming.lineage:
        return Verdict.REPLACE if newer else Verdict.KEEP_BEATEN
    if held.stamp.digest == incoming.stamp.digest:
        return Verdict.REPLACE if newer else Verdict.KEEP
    return Verdict.REPLACE_CONCURRENT if newer else Verdict.KEEP_CONCURRENT


def journaled(table: Table, loser: Sequence[Value], winner: Sequence[Value] | None) -> bool:
    """Whether a concurrent loser of this kind is worth a journal entry.

    `winner` may be None where only its version is known.
    """
    if table.name in UNJOURNALED_KINDS or all(value is None for value in loser):
        return False
    ignored = UNJOURNALED_COLUMNS.get(table.name, frozenset())
    if not ignored or winner is None:
        return not ignored
    names = (*table.names, "extra")
    return any(
        old != new
        for name, old, new in zip(names, loser, winner, strict=True)
        if name not in ignored
    )


def lost_here(verdict: Verdict, winner_lineage: str, unsent: bool) -> bool:
    """Whether a replica's own version really lost to a pulled one that had not seen it.

    An unsent version cannot have been seen. One that was sent may have dropped off the end of a
    full lineage, so it counts only where the winner's lineage is whole; the hub has the rest.
    """
    whole = len(lineage_of(winner_lineage)) < LINEAGE_MAX
    return verdict is Verdict.REPLACE_CONCURRENT and (unsent or whole)


def newest(rows: Sequence[Row]) -> list[Row]:
    """The highest version of each key, in the order in which the keys first appear."""
    best: dict[str, Row] = {}
    for row in rows:
        if row.key not in best or row.stamp > best[row.key].stamp:
            best[row.key] = row
    return list(best.values())
