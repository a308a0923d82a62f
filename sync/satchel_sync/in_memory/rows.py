"""Rows of one kind in a dict that keeps the sums of a digest check as it changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from satchel_sync import digest
from satchel_sync.changes import Row
from satchel_sync.digest import MASK, row_digest
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.subjects import SUBJECT_COLUMNS, marked, subjects
from satchel_sync.tables import BY_NAME, HISTORY, Table

bucket_of = lru_cache(1 << 12)(digest.bucket_of)
summand = lru_cache(1 << 14)(digest.summand)
"""A world of several replicas asks for the same versions many times over."""


class Rows(dict[str, Row]):
    """Key -> row of one kind; set by item only, nothing is ever removed."""

    __slots__ = ("kind", "sums")

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.sums: dict[int, tuple[int, int]] = {}

    def __setitem__(self, key: str, row: Row) -> None:
        held = self.get(key)
        if held is not None:
            self.sums = added(self.sums, self.kind, key, held.stamp, -1)
        self.sums = added(self.sums, self.kind, key, row.stamp, 1)
        super().__setitem__(key, row)

    def copied(self) -> Rows:
        """A copy of the dict; rows never change."""
        made = Rows(self.kind)
        made.update(self)
        made.sums = self.sums
        return made

    def sums_without(self, keys: Collection[str]) -> dict[int, tuple[int, int]]:
        """Bucket -> (rows, sum) of all rows but these."""
        found = self.sums
        for key in keys:
            if key in self:
                found = added(found, self.kind, key, self[key].stamp, -1)
        return found

    def manifest(self, buckets: Collection[int], without: Collection[str]) -> dict[str, Stamp]:
        """Key -> stamp of the rows in these buckets but those in `without`."""
        return {
            key: row.stamp
            for key, row in self.items()
            if bucket_of(self.kind, key) in buckets and key not in without
        }

    def damaged(self) -> list[str]:
        """Keys of rows whose content does not fit their digest."""
        return [key for key, row in self.items() if not fits(BY_NAME[self.kind], row)]


def added(
    sums: dict[int, tuple[int, int]], kind: str, key: str, stamp: Stamp, sign: int
) -> dict[int, tuple[int, int]]:
    """New sums, with a version counted in (1) or out (-1)."""
    bucket = bucket_of(kind, key)
    count, total = sums.get(bucket, (0, 0))
    changed = (count + sign, (total + sign * summand(kind, key, stamp)) & MASK)
    others = {other: sums[other] for other in sums if other != bucket}
    return {**others, bucket: changed} if changed[0] else others


def fits(table: Table, row: Row) -> bool:
    """Whether a row's content is the one that its digest was taken over."""
    if row.stamp == SCRUBBED:
        return all(value is None for value in row.values)
    return row_digest(table, row.key, row.values) == row.stamp.digest


def healed(table: Table, held: Row | None, whole: Row) -> bool:
    """Whether `whole` is the held version with the content that the held one lost."""
    same = held is not None and held.stamp == whole.stamp
    return same and fits(table, whole) and held is not None and not fits(table, held)


def about(rows: Iterable[Rows], kind: str, key: str) -> list[tuple[Table, str]]:
    """Rows, not forgotten yet, that go when this one is forgotten, and what goes with them."""
    found: list[tuple[Table, str]] = []
    for held in rows:
        table = BY_NAME[held.kind]
        is_about = table is HISTORY or table.name in SUBJECT_COLUMNS
        if not is_about and not (table.name == "memory" and marked(key)):
            continue
        mine = [
            row.key
            for row in held.values()
            if row.stamp != SCRUBBED and (kind, key) in subjects(table, row)
        ]
        found += [(table, one) for one in mine]
    return found
