"""A replica in dicts: for tests and simulation, under the same contract suite as the real one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from satchel_sync import clock as hlc_clock
from satchel_sync import limits, restamp
from satchel_sync.changes import (
    Applied,
    Batch,
    Digest,
    Hello,
    Loser,
    PushAnswer,
    Row,
    Settled,
    Welcome,
)
from satchel_sync.digest import bucket_of, derived_id, row_digest, sums
from satchel_sync.errors import NeedsReconcile
from satchel_sync.merge import Verdict, decide, journaled, lost_here, newest
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
from satchel_sync.tables import COLUMN_TAGS, TABLES, Table, Value
from satchel_sync.version import PROTOCOL, SCHEMA


@dataclass
class Kept:
    """What a replica keeps of one row kind."""

    rows: dict[str, Row] = field(default_factory=dict)
    outbox: dict[str, int] = field(default_factory=dict)
    bases: dict[str, Stamp] = field(default_factory=dict)
    quarantine: dict[str, str] = field(default_factory=dict)
    cursor: int = 0


class MemoryReplica:
    """A replica in dicts, with the writes of a user: `put` and `delete`."""

    def __init__(self, replica_id: bytes, clock: Clock) -> None:
        self.replica_id = replica_id
        self.clock = clock
        self.kinds = {table.name: Kept() for table in TABLES}
        self.journaled: dict[tuple[str, str, Stamp], Loser] = {}
        self.unsent_losers: list[Loser] = []
        self.reports: list[Mapping[str, Any]] = []
        self.hub_id: bytes | None = None
        self.last_hlc = 0
        self.last_seq = 0
        self.attempts = 0

    def put(self, table: Table, key: str, values: Sequence[Value]) -> Row:
        """Write a row as a user would: create, edit, or (over a tombstone) restore."""
        held = self.kinds[table.name].rows.get(key)
        if held is not None and held.values == tuple(values):
            return held
        life = CREATED if held is None else held.stamp.life
        if held is not None and held.stamp.dead:
            life = next_generation(life)
        elif table.name == "task" and held is not None:
            at = table.names.index("status")
            if crosses_end(_text(held.values[at]), _text(values[at])):
                life = next_end(life)
        return self._stamp(table, key, tuple(values), life)

    def delete(self, table: Table, key: str) -> Row:
        """Make a tombstone; deleting one again changes nothing."""
        held = self.kinds[table.name].rows[key]
        if held.stamp.dead:
            return held
        return self._stamp(table, key, (None,) * len(held.values), next_generation(held.stamp.life))

    def hello(self) -> Hello:
        """See `Replica.hello`."""
        self.attempts += 1
        attempt = derived_id(self.replica_id.hex(), self.attempts)
        return Hello(self.replica_id, attempt, PROTOCOL, SCHEMA, COLUMN_TAGS, self.hub_id)

    def welcome(self, welcome: Welcome) -> None:
        """See `Replica.welcome`."""
        if self.hub_id not in (None, welcome.hub_id):
            raise NeedsReconcile("this is another warehouse than before")
        self.hub_id = welcome.hub_id

    def outbox_end(self) -> int:
        """See `Replica.outbox_end`."""
        return self.last_seq

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """See `Replica.outgoing`."""
        kept = self.kinds[table.name]
        due = sorted((seq, key) for key, seq in kept.outbox.items() if after < seq <= upto)
        due = due[: limits.PUSH_ROWS_MAX]
        if not due:
            return None
        rows = tuple(kept.rows[key] for _, key in due)
        for row in rows:
            kept.bases[row.key] = row.stamp
        return Batch(rows, due[-1][0])

    def settle(
        self, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int
    ) -> Settled:
        """See `Replica.settle`."""
        kept = self.kinds[table.name]
        still = {row.key: row for row in sent if kept.rows.get(row.key) == row}
        conflicts = restamped = 0
        for key in answer.accepted:
            if key in still:
                kept.outbox.pop(key, None)
        for key, winner in answer.superseded.items():
            if key not in still:
                continue
            verdict = decide(winner, still[key].version)
            if verdict is Verdict.KEEP_BEATEN:
                self._hold(table, restamp.lifted(still[key], winner, self.replica_id))
                restamped += 1
                continue
            if verdict.replaces:
                continue  # the hub should have taken it: it stays queued
            kept.outbox.pop(key, None)
            if verdict.concurrent and journaled(table, still[key].values, None):
                self._lose(table, still[key], winner.stamp, "push")
                conflicts += 1
        late = [still[r.key] for r in answer.refused if r.reason == "future" and r.key in still]
        for key, hlc in restamp.brought_back(late, offset_ms, answer.now_ms).items():
            stamp = still[key].stamp._replace(hlc=hlc, origin=self.replica_id)
            lineage = extend(still[key].lineage, still[key].stamp)
            self._hold(table, replace(still[key], stamp=stamp, lineage=lineage))
            restamped += 1
        if late:
            self._fall_back(answer.now_ms)
        return Settled(restamped, conflicts)

    def cursor(self, table: Table) -> int:
        """See `Replica.cursor`."""
        return self.kinds[table.name].cursor

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """See `Replica.apply`."""
        kept = self.kinds[table.name]
        applied = conflicts = 0
        for row in newest(rows):
            held = kept.rows.get(row.key)
            verdict = decide(held.version if held else None, row.version)
            unsent = row.key in kept.outbox
            kept.bases[row.key] = row.stamp
            self.last_hlc = hlc_clock.observe(self.clock.now_ms(), self.last_hlc, row.stamp.hlc)
            if verdict.replaces:
                mine = unsent or (held is not None and held.stamp.origin == self.replica_id)
                lost = mine and lost_here(verdict, row.lineage, unsent)
                if lost and held is not None and journaled(table, held.values, row.values):
                    self._lose(table, held, row.stamp, "pull")
                    conflicts += 1
                kept.rows[row.key] = row
                kept.outbox.pop(row.key, None)
                applied += 1
            elif verdict is Verdict.SAME:
                kept.outbox.pop(row.key, None)
            elif verdict is Verdict.KEEP_BEATEN and held is not None:
                self._hold(table, restamp.lifted(row, held.version, self.replica_id))
            elif not unsent:
                self._queue(table, row.key)
        if cursor is not None:
            kept.cursor = cursor
        return Applied(applied, conflicts)

    def digest(self, table: Table) -> Digest | None:
        """See `Replica.digest`."""
        kept = self.kinds[table.name]
        if kept.outbox:
            return None
        versions = ((key, row.stamp) for key, row in kept.rows.items())
        return Digest(kept.cursor, sums(table.name, versions))

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """See `Replica.manifest`."""
        rows = self.kinds[table.name].rows
        return {k: r.stamp for k, r in rows.items() if bucket_of(table.name, k) in buckets}

    def held_back(self, table: Table) -> Collection[str]:
        """See `Replica.held_back`."""
        return tuple(self.kinds[table.name].quarantine)

    def quarantined(self) -> int:
        """See `Replica.quarantined`."""
        return sum(len(kept.quarantine) for kept in self.kinds.values())

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """See `Replica.requeue`."""
        for key in keys:
            self._queue(table, key)

    def losers(self) -> Sequence[Loser]:
        """See `Replica.losers`."""
        return tuple(self.unsent_losers)

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """See `Replica.losers_sent`."""
        self.unsent_losers = [loser for loser in self.unsent_losers if loser not in losers]

    def record(self, report: Mapping[str, Any]) -> None:
        """See `Replica.record`."""
        self.reports.append(report)

    def _queue(self, table: Table, key: str) -> None:
        self.last_seq += 1
        self.kinds[table.name].outbox[key] = self.last_seq

    def _stamp(self, table: Table, key: str, values: tuple[Value, ...], life: int) -> Row:
        kept = self.kinds[table.name]
        held = kept.rows.get(key)
        if held is not None and held.stamp == SCRUBBED:
            raise ValueError(f"{table.name} {key} was forgotten for good")
        self.last_hlc = hlc_clock.tick(
            self.clock.now_ms(), self.last_hlc, held.stamp.hlc if held else 0
        )
        lineage = held.lineage if held else ""
        if held is not None and kept.bases.get(key) == held.stamp:
            lineage = extend(lineage, held.stamp)
        stamp = Stamp(life, self.last_hlc, self.replica_id, row_digest(table, key, values))
        kept.rows[key] = Row(key, stamp, lineage, values)
        self._queue(table, key)
        return kept.rows[key]

    def _hold(self, table: Table, row: Row) -> None:
        self.kinds[table.name].rows[row.key] = row
        self.last_hlc = max(self.last_hlc, row.stamp.hlc)
        self._queue(table, row.key)

    def _fall_back(self, hub_ms: int) -> None:
        limit = hlc_clock.pack(hub_ms + hlc_clock.AHEAD_MS_MAX)
        held = (r.stamp.hlc for kept in self.kinds.values() for r in kept.rows.values())
        self.last_hlc = max((hlc for hlc in held if hlc <= limit), default=0)

    def _lose(self, table: Table, row: Row, winner: Stamp, path: str) -> None:
        loser = Loser(table.name, row, winner, path, self.clock.now_ms())
        if (table.name, row.key, row.stamp) not in self.journaled:
            self.journaled[table.name, row.key, row.stamp] = loser
            self.unsent_losers.append(loser)


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None
