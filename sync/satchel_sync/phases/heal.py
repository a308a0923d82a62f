"""Heal: rows whose content does not fit their version get it back from the side that is whole.

No digest of versions can tell of such a row: somebody wrote past the triggers, or a disk lied. To
look at every row takes time, so `satchel sync verify` does it, and no hourly sync.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from satchel_sync.limits import FETCH_KEYS_MAX
from satchel_sync.phases.compare import parts
from satchel_sync.ports import Hub, Replica
from satchel_sync.row import Row
from satchel_sync.tables import Table


@dataclass(frozen=True, slots=True)
class Damage:
    """Keys of one kind whose content does not fit their version, on either side."""

    here: frozenset[str]
    there: frozenset[str]

    def __or__(self, other: Damage) -> Damage:
        return Damage(self.here | other.here, self.there | other.there)

    @property
    def keys(self) -> frozenset[str]:
        """All of them."""
        return self.here | self.there


def damage(replica: Replica, hub: Hub, table: Table) -> Damage:
    """Read every row of a kind on both sides."""
    return Damage(frozenset(replica.damaged(table)), frozenset(hub.damaged(table)))


def heal(replica: Replica, hub: Hub, table: Table, found: Damage) -> Damage:
    """Put content back from the other side; returns what is damaged still.

    That is what neither side holds whole in the same version. What a deleted or forgotten row
    should hold is known without the other side: nothing.
    """
    if not found.keys:
        return found
    heal_dead(replica, hub, table, found)
    heal_here(replica, hub, table, sorted(found.here - found.there))
    for keys in parts(sorted(found.there - found.here), FETCH_KEYS_MAX):
        hub.heal(table, replica.held(table, keys))
    return damage(replica, hub, table)


def heal_dead(replica: Replica, hub: Hub, table: Table, found: Damage) -> None:
    """Empty what is dead and holds something, on each side by itself."""
    for keys in parts(sorted(found.here), FETCH_KEYS_MAX):
        replica.heal(table, emptied(replica.held(table, keys)))
    for rows in fetched(hub, table, sorted(found.there)):
        hub.heal(table, emptied(rows))


def heal_here(replica: Replica, hub: Hub, table: Table, keys: Sequence[str]) -> None:
    """Fetch rows that are damaged here and put their content back."""
    for rows in fetched(hub, table, keys):
        replica.heal(table, rows)


def fetched(hub: Hub, table: Table, keys: Sequence[str]) -> Iterator[Sequence[Row]]:
    """Whole rows of the hub by key, a page at a time."""
    for some in parts(keys, FETCH_KEYS_MAX):
        wanted = tuple(some)
        while wanted:
            page = hub.fetch(table, wanted)
            yield page.rows
            wanted = page.rest


def emptied(rows: Sequence[Row]) -> list[Row]:
    """Those that are dead, with the content that their version has: none."""
    return [replace(row, values=(None,) * len(row.values)) for row in rows if row.stamp.dead]
