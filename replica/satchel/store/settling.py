"""What the hub's answer to a push does here: clear, lift, stamp anew, quarantine, journal."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from satchel.store import journal, outbox, quarantine, scrubbing, touched
from satchel_sync import merge, restamp
from satchel_sync.changes import Loser, PushAnswer, Refusal, Row, Settled, Version
from satchel_sync.clock import nearest_future
from satchel_sync.merge import Verdict
from satchel_sync.stamp import SCRUBBED, extend
from satchel_sync.tables import TABLES, Table

FUTURE = "future"
"""The hub's reason for a stamp that is too far ahead of every clock."""


def settle(
    db: apsw.Connection,
    table: Table,
    sent: Sequence[Row],
    answer: PushAnswer,
    offset_ms: int,
    now_ms: int,
) -> Settled:
    """Settle one answer inside a write transaction; an edit made in flight is never touched."""
    rows = {row.key: row for row in sent}
    db.execute("UPDATE control SET applying = 1")
    outbox.clear(db, table, ((key, rows[key].stamp) for key in answer.accepted if key in rows))
    lifted = conflicts = 0
    for key, kept in answer.superseded.items():
        if key in rows:
            was_lifted, was_conflict = _superseded(db, table, rows[key], kept, now_ms)
            lifted, conflicts = lifted + was_lifted, conflicts + was_conflict
    refused = [refusal for refusal in answer.refused if refusal.key in rows]
    early = [rows[refusal.key] for refusal in refused if refusal.reason == FUTURE]
    restamped = _bring_back(db, table, early, offset_ms, answer.now_ms)
    others = [refusal for refusal in refused if refusal.reason != FUTURE]
    for refusal in others:
        _hold_back(db, table, rows[refusal.key], refusal, now_ms)
    db.execute("UPDATE control SET applying = 0")
    return Settled(lifted + restamped, conflicts, len(others))


def _superseded(
    db: apsw.Connection, table: Table, row: Row, kept: Version, now_ms: int
) -> tuple[bool, bool]:
    """A row that the hub did not take: (lifted above what it builds on, journaled)."""
    verdict = merge.decide(kept, row.version)
    if verdict is Verdict.KEEP_BEATEN:
        return _lift(db, table, row, kept), False
    if verdict.replaces:
        return False, False  # the hub should have taken it: it stays queued
    outbox.clear(db, table, [(row.key, row.stamp)])
    if verdict is not Verdict.KEEP_CONCURRENT or not merge.journaled(table, row.values, None):
        return False, False
    if scrubbing.is_about_forgotten(db, table, row):
        return False, False
    return False, journal.add(db, Loser(table.name, row, kept.stamp, "push", now_ms))


def _lift(db: apsw.Connection, table: Table, row: Row, winner: Version) -> bool:
    """Stamp a row above a version that it builds on, if it still is the row that was sent."""
    lifted = restamp.lifted(row, winner, row.stamp.origin)
    if not _restamp(db, table, row, lifted.stamp.life, lifted.stamp.hlc, lifted.lineage):
        return False
    db.execute("UPDATE clock SET last = max(last, ?)", (lifted.stamp.hlc,))
    return True


def _bring_back(
    db: apsw.Connection, table: Table, rows: Sequence[Row], offset_ms: int, hub_ms: int
) -> int:
    """Give rows from the future stamps that the hub takes; returns how many got one."""
    stamps = restamp.brought_back(rows, offset_ms, hub_ms)
    restamped = 0
    for row in rows:
        lineage = extend(row.lineage, row.stamp)
        restamped += _restamp(db, table, row, row.stamp.life, stamps[row.key], lineage)
    if rows:
        _fall_back(db, hub_ms)
    return restamped


def _restamp(
    db: apsw.Connection, table: Table, row: Row, life: int, hlc: int, lineage: str
) -> bool:
    """New stamp for the same content, if the row still has the version sent; queued again."""
    db.execute(
        f"UPDATE {table.name} SET life = ?, hlc = ?, lineage = ?,"
        " origin = (SELECT replica_id FROM control)"
        f" WHERE {table.key} = ? AND life = ? AND hlc = ? AND origin = ? AND digest = ?",
        (life, hlc, lineage, row.key, *row.stamp),
    )
    if not db.changes():
        return False
    touched.note("restamped", table.name, [row.key])
    touched.note_stamps([hlc])
    outbox.put(db, table, [row.key])
    return True


def _fall_back(db: apsw.Connection, hub_ms: int) -> None:
    """The clock goes back to the highest stamp held that the hub would take."""
    limit = nearest_future(hub_ms)
    highest = max(
        db.execute(f"SELECT coalesce(max(hlc), 0) FROM {table.name} WHERE hlc <= ?", (limit,)).get
        for table in TABLES
    )
    db.execute("UPDATE clock SET last = ?", (highest,))


def _hold_back(db: apsw.Connection, table: Table, row: Row, refusal: Refusal, now_ms: int) -> None:
    """Keep a row that the hub cannot take until it is changed.

    A forgotten one cannot be changed: it stays queued, and every report says that it waits.
    """
    if row.stamp == SCRUBBED:
        return
    current = outbox.row(db, table, row.key)
    outbox.clear(db, table, [(row.key, row.stamp)])
    if current is not None and current.stamp == row.stamp:
        reason = f"{quarantine.REFUSED}: {refusal.reason}"
        reason += f" ({refusal.detail})" if refusal.detail else ""
        quarantine.put(db, table, row.key, (None, reason), now_ms)
        outbox.bump(db)
