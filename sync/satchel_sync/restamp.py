"""New stamps for rows that the hub refused as from the future, or that lost to their own base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from satchel_sync import clock
from satchel_sync.changes import Row, Version
from satchel_sync.stamp import (
    CREATED,
    GENERATION,
    INT64_MAX,
    SCRUBBED,
    Stamp,
    extend,
    lineage_of,
)
from satchel_sync.validity import sound_lineage


def base_of(lineage: str) -> Stamp | None:
    """The newest version that a row builds on."""
    entries = lineage_of(lineage)
    return Stamp.parse(entries[0]) if entries else None


def brought_back(rows: Sequence[Row], offset_ms: int, hub_now_ms: int) -> Mapping[str, int]:
    """Key -> new hlc for rows whose stamps lie in the hub's future.

    min(stamp - offset if the offset is positive, hub's now), above the row's base, each different,
    and in the order of the old stamps.
    """
    stamps: dict[str, int] = {}
    last = 0
    for row in sorted(rows, key=lambda row: row.stamp.hlc):
        wished = row.stamp.hlc - (clock.pack(offset_ms) if offset_ms > 0 else 0)
        base = base_of(row.lineage)
        floor = base.hlc + 1 if base is not None and base.hlc < clock.HLC_MAX else 0
        last = max(min(wished, clock.pack(hub_now_ms)), last + 1, floor)
        if last == row.stamp.hlc:
            last += 1
        stamps[row.key] = last
    return stamps


def lifted(row: Row, winner: Version, origin: bytes) -> Row:
    """`row` stamped by `origin` above a version that it builds on, yet compares lower to.

    That version stays in the lineage: whoever holds it must see that this one builds on it.
    """
    life = max(row.stamp.life, winner.stamp.life)
    hlc = max(row.stamp.hlc, winner.stamp.hlc) + 1
    if hlc > clock.HLC_MAX:
        life = over(life)
        hlc = clock.tick(0, row.stamp.hlc, winner.stamp.hlc)
    stamp = row.stamp._replace(life=life, hlc=hlc, origin=origin)
    lineage = extend(extend(row.lineage, winner.stamp), row.stamp)
    return replace(row, stamp=stamp, lineage=lineage)


def over(life: int) -> int:
    """A life above another, and alive or dead as that one: for where no hlc can be above."""
    step = 2 * GENERATION
    return min(life // step + 1, INT64_MAX // step - 1) * step + life % step


def mended(row: Row, origin: bytes, now_ms: int) -> Row:
    """`row` in a version that others can build on, above the damaged one that it has.

    Lives compare first, so a higher one wins whatever the damaged hlc is; `validity.whole` tells.
    """
    alive = any(value is not None for value in row.values)
    life = over(max(row.stamp.life, CREATED if alive else 2 * GENERATION))
    hlc = clock.tick(now_ms, 0, row.stamp.hlc)
    lineage = row.lineage if sound_lineage(row.lineage) else ""
    return replace(
        row, stamp=row.stamp._replace(life=life, hlc=hlc, origin=origin), lineage=lineage
    )


def future(row: Row, held_hlc: int, now_ms: int) -> bool:
    """Whether a hub refuses a stamp: 5 min above its clock, the held row and the base."""
    base = base_of(row.lineage)
    known = max(clock.pack(now_ms), held_hlc, base.hlc if base else 0)
    limit = min(known + clock.pack(clock.AHEAD_MS_MAX), clock.HLC_MAX)
    return row.stamp != SCRUBBED and row.stamp.hlc > limit
