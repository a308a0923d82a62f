"""How a replica in memory merges a page of pulled rows."""

from __future__ import annotations

from collections.abc import Sequence

from satchel_sync import clock as hlc_clock
from satchel_sync import restamp
from satchel_sync.changes import Applied, Row
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.settling import hold
from satchel_sync.in_memory.writing import is_about_forgotten, lose, scrub
from satchel_sync.merge import Verdict, decide, journaled, lost_here, newest
from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import Table


def apply_rows(file: File, table: Table, rows: Sequence[Row], now_ms: int) -> Applied:
    """Merge rows by last write wins, whole."""
    applied = conflicts = 0
    for row in newest(rows):
        file.last_hlc = hlc_clock.observe(now_ms, file.last_hlc, row.stamp.hlc)
        replaced, conflict = apply_row(file, table, row, now_ms)
        applied, conflicts = applied + replaced, conflicts + conflict
    return Applied(applied, conflicts)


def apply_row(file: File, table: Table, row: Row, now_ms: int) -> tuple[bool, bool]:
    """Merge one row: (stored, a version of this machine went to the journal)."""
    kept = file.kinds[table.name]
    held = kept.rows.get(row.key)
    if row.stamp != SCRUBBED and is_about_forgotten(file, table, row):
        if held is None or held.stamp != SCRUBBED:
            file.hold(table.name, scrubbed(table, row.key))
        elif not kept.unsent(row.key):
            file.queue(table.name, row.key)
        return False, False
    verdict = decide(held.version if held else None, row.version)
    if verdict.replaces:
        conflict = held is not None and journal_mine(file, table, held, row, verdict, now_ms)
        kept.rows[row.key], kept.bases[row.key] = row, row.stamp
        kept.outbox.pop(row.key, None)
        kept.quarantine.pop(row.key, None)
        if row.stamp == SCRUBBED:
            scrub(file, table, row.key)
        return True, conflict
    if verdict is Verdict.SAME:
        kept.bases[row.key] = row.stamp
        kept.outbox.pop(row.key, None)
    elif verdict is Verdict.KEEP_BEATEN and held is not None:
        hold(file, table, restamp.lifted(row, held.version, file.replica_id))
    elif not kept.unsent(row.key):
        file.queue(table.name, row.key)
    return False, False


def journal_mine(
    file: File, table: Table, held: Row, row: Row, verdict: Verdict, now_ms: int
) -> bool:
    """Journal a version of this machine that a pulled one had not seen.

    In a reconcile those of others too: after a rewind this file may be all that has them.
    """
    unsent = file.kinds[table.name].unsent(row.key)
    ids = (file.replica_id, *file.predecessors)
    mine = unsent or bool(file.due) or held.stamp.origin in ids
    if not mine or not lost_here(verdict, row.lineage, unsent):
        return False
    if not journaled(table, held.values, row.values):
        return False
    return lose(file, table, held, row.stamp, "pull", now_ms)
