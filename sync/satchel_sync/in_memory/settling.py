"""What the hub's answer to a push does on a replica in memory: clear, lift, stamp anew, journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from satchel_sync import restamp
from satchel_sync.changes import PushAnswer, Row, Settled, Version
from satchel_sync.clock import nearest_future
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.writing import lose
from satchel_sync.merge import Verdict, decide, journaled
from satchel_sync.stamp import SCRUBBED, extend
from satchel_sync.tables import Table


def settle_answer(
    file: File, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int, now_ms: int
) -> Settled:
    """Settle an answer; a row that was edited in flight stays queued as it is."""
    rows = {row.key: row for row in sent}
    for key in answer.accepted:
        clear(file, table, rows[key])
    lifted = conflicts = 0
    for key, winner in answer.superseded.items():
        lifts, conflict = superseded(file, table, rows[key], winner, now_ms)
        lifted, conflicts = lifted + lifts, conflicts + conflict
    refused = [refusal for refusal in answer.refused if is_held(file, table, rows[refusal.key])]
    early = [rows[refusal.key] for refusal in refused if refusal.reason == "future"]
    bring_back(file, table, early, offset_ms, answer.now_ms)
    others = [refusal for refusal in refused if refusal.reason != "future"]
    for refusal in others:
        kept = file.kinds[table.name]
        kept.outbox.pop(refusal.key, None)
        kept.quarantine[refusal.key] = refusal.detail or refusal.reason
    return Settled(lifted + len(early), conflicts, len(others))


def is_held(file: File, table: Table, row: Row) -> bool:
    """Whether a row still has the version that was sent."""
    held = file.kinds[table.name].rows.get(row.key)
    return held is not None and held.stamp == row.stamp


def clear(file: File, table: Table, row: Row) -> None:
    """Remove an outbox entry, by compare."""
    if is_held(file, table, row):
        file.kinds[table.name].outbox.pop(row.key, None)


def superseded(
    file: File, table: Table, row: Row, winner: Version, now_ms: int
) -> tuple[bool, bool]:
    """A row that the hub did not take: (lifted above what it builds on, journaled)."""
    verdict = decide(winner, row.version)
    if verdict is Verdict.KEEP_BEATEN:
        return lift(file, table, row, winner), False
    if verdict.replaces:
        return False, False  # the hub should have taken it: it stays queued
    clear(file, table, row)
    if verdict is not Verdict.KEEP_CONCURRENT or not journaled(table, row.values, None):
        return False, False
    return False, lose(file, table, row, winner.stamp, "push", now_ms)


def lift(file: File, table: Table, row: Row, winner: Version) -> bool:
    """Stamp a row above a version that it builds on; whether it still was the one sent."""
    if not is_held(file, table, row):
        return False
    hold(file, table, restamp.lifted(row, winner, file.replica_id))
    return True


def bring_back(file: File, table: Table, rows: Sequence[Row], offset_ms: int, hub_ms: int) -> None:
    """Give rows from the future stamps that the hub takes, and let the clock fall back."""
    for key, hlc in restamp.brought_back(rows, offset_ms, hub_ms).items():
        row = next(row for row in rows if row.key == key)
        stamp = row.stamp._replace(hlc=hlc, origin=file.replica_id)
        file.hold(table.name, replace(row, stamp=stamp, lineage=extend(row.lineage, row.stamp)))
    if rows:
        fall_back(file, hub_ms)


def fall_back(file: File, hub_ms: int) -> None:
    """The clock goes back to the highest stamp held that the hub would take."""
    limit = nearest_future(hub_ms)
    held = (row.stamp.hlc for kept in file.kinds.values() for row in kept.rows.values())
    file.last_hlc = max((hlc for hlc in held if hlc <= limit), default=0)


def hold(file: File, table: Table, row: Row) -> None:
    """Keep a row that was lifted, and never stamp below it."""
    file.hold(table.name, row)
    if row.stamp != SCRUBBED:
        file.last_hlc = max(file.last_hlc, row.stamp.hlc)
