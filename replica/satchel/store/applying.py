"""Merging a page of pulled rows into this machine's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from satchel.store import (
    bulk,
    claims,
    identity,
    journal,
    outbox,
    quarantine,
    scrubbing,
    succession,
    touched,
    wiping,
)
from satchel.store.codec import upsert
from satchel.store.seal import hash_texts
from satchel_sync import merge, restamp, validity
from satchel_sync.changes import Applied, Loser, Row, Version
from satchel_sync.clock import nearest_future
from satchel_sync.merge import Verdict
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import EMBEDDING, MEMORY, TASK, Table


@dataclass(frozen=True, slots=True)
class Held:
    """What this machine has under a key: its version, and whether that is still to be sent."""

    version: Version
    queued: bool
    quarantined: bool


@dataclass(slots=True)
class Plan:
    """What a page does, decided before anything is written."""

    winners: dict[str, Row] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)
    at_hub: list[str] = field(default_factory=list)
    losers: list[tuple[str, Stamp]] = field(default_factory=list)
    newer_here: list[str] = field(default_factory=list)

    def held_of(self, rows: Sequence[Row]) -> list[Row]:
        """Those held in just this version afterwards: an older one is no base of the next edit."""
        at_hub = frozenset(self.at_hub)
        winners = ((row, self.winners.get(row.key)) for row in rows)
        return [
            row
            for row, winner in winners
            if row.key in at_hub or (winner is not None and winner.stamp == row.stamp)
        ]


def apply(
    db: apsw.Connection,
    table: Table,
    rows: Sequence[Row],
    cursor: int | None,
    now_ms: int,
    path: str = "pull",
) -> Applied:
    """Store what wins, whole, and move the cursor; inside a write transaction, all sealed."""
    arrived = merge.newest(rows)
    rows = scrubbing.about_forgotten(db, table, arrived)
    whole_at_hub = [row.key for row, one in zip(arrived, rows, strict=True) if one is not row]
    ours = (identity.load(db), *succession.predecessors(db))
    local = _withheld(db, table, [row.key for row in rows])
    free = [row for row in rows if row.key not in local]
    held = _held(db, table, [row.key for row in free])
    plan = _decide(free, held, ours, now_ms)
    conflicts = _journal(db, table, plan, now_ms, path)
    db.execute("UPDATE control SET applying = 1")
    _store(db, table, plan.winners, held)
    db.execute("UPDATE control SET applying = 0")
    own = [row for row in plan.winners.values() if row.stamp.origin == ours[0]]
    touched.note("restamped", table.name, [row.key for row in own])
    touched.note_stamps([row.stamp.hlc for row in own])
    withheld = [row for row in rows if row.key in local]
    outbox.mark_sent(db, table, [*withheld, *plan.held_of(free)])
    outbox.drop(db, table, (*plan.replaced, *plan.at_hub))
    quarantine.lift(db, table, plan.replaced)
    outbox.put(db, table, [*plan.newer_here, *whole_at_hub])
    _follow_up(db, table, plan, now_ms)
    _observe(db, [*rows, *plan.winners.values()], now_ms)
    if plan.winners:
        outbox.bump(db)
    if cursor is not None:
        db.execute(
            "INSERT INTO cursor(kind, seq) VALUES(?, ?)"
            " ON CONFLICT(kind) DO UPDATE SET seq = max(seq, excluded.seq)",
            (table.name, cursor),
        )
    return Applied(len(plan.winners), conflicts)


def _held(db: apsw.Connection, table: Table, keys: Sequence[str]) -> dict[str, Held]:
    found = db.execute(
        f"SELECT t.{table.key}, life, hlc, origin, digest, lineage,"
        " o.key IS NOT NULL, q.key IS NOT NULL"
        f" FROM json_each(?2) AS wanted JOIN {table.name} AS t ON t.{table.key} = wanted.value"
        f" LEFT JOIN outbox AS o ON o.kind = ?1 AND o.key = t.{table.key}"
        f" LEFT JOIN quarantine AS q ON q.kind = ?1 AND q.key = t.{table.key}",
        (table.name, json.dumps(keys)),
    )
    return {
        str(key): Held(
            Version(Stamp(life, hlc, origin, digest), lineage or ""), bool(queued), bool(faulty)
        )
        for key, life, hlc, origin, digest, lineage, queued, faulty in found
    }


def _store(
    db: apsw.Connection, table: Table, winners: Mapping[str, Row], held: Mapping[str, Held]
) -> None:
    """Store rows whole, version and all; many that are new at once where there are so many."""
    new = [row for key, row in winners.items() if key not in held]
    if not bulk.fits(db, table, new):
        upsert(db, table, winners.values())
        return
    bulk.insert(db, table, new)
    if len(new) < len(winners):
        upsert(db, table, (row for key, row in winners.items() if key in held))


def _withheld(db: apsw.Connection, table: Table, keys: Sequence[str]) -> frozenset[str]:
    """Which of these keys are local here: such a row neither leaves nor is replaced."""
    found = db.execute(
        "SELECT key FROM withheld WHERE kind = ? AND key IN (SELECT value FROM json_each(?))",
        (table.name, json.dumps(keys)),
    )
    return frozenset(str(key) for (key,) in found)


def _decide(rows: Sequence[Row], held: dict[str, Held], ours: Sequence[bytes], now_ms: int) -> Plan:
    """What wins. A damaged version that wins is mended here, and so travels back to the hub.

    `ours` are the ids of this file, its present one first.
    """
    plan = Plan()
    for row in rows:
        _decide_one(plan, row, held.get(row.key), ours)
        if row.key in plan.winners and not validity.whole(plan.winners[row.key]):
            plan.winners[row.key] = restamp.mended(plan.winners[row.key], ours[0], now_ms)
            plan.newer_here.append(row.key)
    return plan


def _decide_one(plan: Plan, row: Row, mine: Held | None, ours: Sequence[bytes]) -> None:
    if mine is None:
        plan.winners[row.key] = row
        return
    verdict = merge.decide(mine.version, row.version)
    if verdict.replaces:
        plan.winners[row.key] = row
        plan.replaced.append(row.key)
        unsent = mine.queued or mine.quarantined
        own = unsent or mine.version.stamp.origin in ours
        if own and merge.lost_here(verdict, row.lineage, unsent):
            plan.losers.append((row.key, row.stamp))
    elif verdict is Verdict.SAME:
        plan.at_hub.append(row.key)
    elif verdict is Verdict.KEEP_BEATEN:
        plan.winners[row.key] = restamp.lifted(row, mine.version, ours[0])
        plan.newer_here.append(row.key)
    elif not (mine.queued or mine.quarantined):
        plan.newer_here.append(row.key)


def _journal(db: apsw.Connection, table: Table, plan: Plan, now_ms: int, path: str) -> int:
    """Keep edits of this machine that lose to a version which had not seen them."""
    kept = 0
    for key, winner in plan.losers:
        mine = outbox.row(db, table, key)
        if mine is None or scrubbing.is_about_forgotten(db, table, mine):
            continue
        if merge.journaled(table, mine.values, plan.winners[key].values):
            kept += journal.add(db, Loser(table.name, mine, winner, path, now_ms))
    return kept


def _follow_up(db: apsw.Connection, table: Table, plan: Plan, now_ms: int) -> None:
    """Hash new texts, queue vectors, tell of lost claims, forget journals of what was scrubbed."""
    scrubbed = [key for key, row in plan.winners.items() if row.stamp == SCRUBBED]
    lost = set(scrubbed).intersection(plan.replaced)
    wiping.owe(db, lost)
    touched.note("forgotten", table.name, sorted(lost))
    scrubbing.scrub(db, ((table.name, key) for key in scrubbed), now_ms, pulled=True)
    if table is MEMORY:
        hash_texts(db)
        db.execute(
            "INSERT INTO embed_queue(memory_id, since_ms) SELECT memory.id, ?1 FROM json_each(?2)"
            " JOIN memory ON memory.id = value WHERE text_hash <> '' AND NOT EXISTS ("
            " SELECT 1 FROM embedding AS e WHERE e.memory_id = memory.id"
            " AND e.content_hash = memory.text_hash) ON CONFLICT(memory_id) DO NOTHING",
            (now_ms, json.dumps(list(plan.winners))),
        )
    if table is TASK and plan.winners:
        claims.settle(db, now_ms)
    if table is EMBEDDING:
        db.execute(
            "DELETE FROM embed_queue WHERE memory_id IN (SELECT e.memory_id FROM json_each(?)"
            " JOIN embedding AS e ON e.id = value JOIN memory AS m ON m.id = e.memory_id"
            " WHERE e.content_hash = m.text_hash)",
            (json.dumps(list(plan.winners)),),
        )


def _observe(db: apsw.Connection, rows: Sequence[Row], now_ms: int) -> None:
    """Move the clock by the highest stamp that is not too far ahead of the wall."""
    limit = nearest_future(now_ms)
    highest = max((row.stamp.hlc for row in rows if row.stamp.hlc <= limit), default=0)
    db.execute("UPDATE clock SET last = max(last, ?)", (highest,))
