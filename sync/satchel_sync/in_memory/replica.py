"""A replica in dicts: for tests and simulation, under the same contract suite as the real one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from satchel_sync import clock as hlc_clock
from satchel_sync import limits
from satchel_sync.changes import (
    Applied,
    Batch,
    Digest,
    Hello,
    Left,
    Loser,
    PushAnswer,
    Reconciling,
    Row,
    Settled,
    Standing,
    Welcome,
)
from satchel_sync.errors import NeedsReconcile
from satchel_sync.in_memory.applying import apply_rows
from satchel_sync.in_memory.auditing import Auditing
from satchel_sync.in_memory.file import File, Kept
from satchel_sync.in_memory.hub_state import drawn
from satchel_sync.in_memory.rows import healed
from satchel_sync.in_memory.settling import settle_answer
from satchel_sync.in_memory.writing import Writing
from satchel_sync.ports import Clock
from satchel_sync.stamp import Stamp
from satchel_sync.tables import COLUMN_TAGS, Table
from satchel_sync.version import PROTOCOL, SCHEMA

ADOPTED = "adopted"


class MemoryReplica(Writing, Auditing):
    """A replica in dicts, with the writes of a user; `draw` gives 32 hex digits never given before.

    `adopt` lets it go to a hub that it does not belong to.
    """

    def __init__(
        self,
        replica_id: bytes,
        clock: Clock,
        draw: Callable[[], str] = drawn,
        *,
        adopt: bool = False,
    ) -> None:
        self.file = File(replica_id)
        self.clock = clock
        self.draw = draw
        self.adopt = adopt

    @property
    def replica_id(self) -> bytes:
        """The id under which it writes now."""
        return self.file.replica_id

    @property
    def kinds(self) -> Mapping[str, Kept]:
        """What it keeps, kind by kind."""
        return self.file.kinds

    def snapshot(self) -> File:
        """A copy of the file."""
        return self.file.copied()

    def restore(self, file: File) -> None:
        """Put a copy of the file in the place of this one."""
        self.file = file.copied()

    def hello(self) -> Hello:
        """See `Replica.hello`."""
        said = self.identity()
        self.file.attempt = self.file.attempt or self.draw()
        return replace(said, attempt=self.file.attempt)

    def identity(self) -> Hello:
        """See `Carrier.identity`."""
        file = self.file
        if file.due != ADOPTED and (file.hub_id or file.foreign) and self.adopt:
            self._adopt()
        if file.hub_id is None and file.foreign and not file.due:
            raise NeedsReconcile(
                "this file has rows of others and belongs to no warehouse",
                hint="satchel sync --adopt",
            )
        return Hello(
            replica_id=file.replica_id,
            attempt="",
            protocol=PROTOCOL,
            schema=SCHEMA,
            columns=COLUMN_TAGS,
            hub_id=file.hub_id,
            epoch=file.epoch,
            predecessors=file.predecessors,
            last_attempt=file.last_attempt,
            token=file.token,
            cursors={kind: kept.cursor for kind, kept in file.kinds.items()},
            reconcile=file.due,
        )

    def welcome(self, welcome: Welcome) -> None:
        """See `Replica.welcome`."""
        file = self.file
        if file.hub_id not in (None, welcome.hub_id):
            raise NeedsReconcile("this is another warehouse than before", hint="--adopt")
        file.hub_id = welcome.hub_id
        file.last_attempt, file.attempt = file.attempt or file.last_attempt, ""
        if welcome.standing in (Standing.REWOUND, Standing.MOVED):
            file.due = file.due or welcome.standing.value
        if not file.due:
            file.epoch = file.epoch or welcome.epoch

    def met(self, hub_id: bytes, epoch: str) -> None:
        """See `Carrier.met`."""
        if self.file.hub_id is None:
            self.file.hub_id = hub_id
            self.file.epoch = self.file.epoch or ("" if self.file.due else epoch)

    def received(self, token: str, after: str) -> None:
        """See `Carrier.received`."""
        if self.file.token == after:
            self.file.token = token

    def succeed(self, why: str) -> None:
        """See `Replica.succeed`."""
        self.file.predecessors = (self.file.replica_id, *self.file.predecessors)
        self.file.replica_id = bytes.fromhex(self.draw())
        self.file.attempt = ""
        self._begin_chains()

    def link(self) -> str:
        """See `Replica.link`."""
        return self.file.last_attempt

    def due(self) -> str:
        """See `Replica.due`."""
        return self.file.due

    def reconciled(self, done: Reconciling) -> None:
        """See `Replica.reconciled`."""
        for kind, seq in done.seqs.items():
            self.file.kinds[kind].cursor = seq
        self.file.epoch, self.file.due, self.file.token = done.epoch, "", ""
        self.file.losers_sent = set()

    def outbox_end(self) -> int:
        """See `Replica.outbox_end`."""
        return self.file.last_seq

    def unsent(self, upto: int) -> Mapping[str, int]:
        """See `Replica.unsent`."""
        waiting = {
            kind: sum(seq <= upto for seq in kept.outbox.values())
            for kind, kept in self.kinds.items()
        }
        return {kind: count for kind, count in waiting.items() if count}

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """See `Replica.outgoing`."""
        kept = self.file.kinds[table.name]
        due = [(seq, key) for key, seq in kept.outbox.items() if after < seq <= upto]
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
        self.file.token = answer.token or self.file.token
        return settle_answer(self.file, table, sent, answer, offset_ms, self.clock.now_ms())

    def cursor(self, table: Table) -> int:
        """See `Replica.cursor`."""
        return self.file.kinds[table.name].cursor

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """See `Replica.apply`."""
        applied = apply_rows(self.file, table, rows, self.clock.now_ms())
        if cursor is not None:
            self.file.kinds[table.name].cursor = cursor
        return applied

    def digest(self, table: Table, *, settled: bool = True) -> Digest | None:
        """See `Replica.digest`."""
        kept = self.file.kinds[table.name]
        if kept.outbox and settled:
            return None
        return Digest(kept.cursor, kept.rows.sums_without(kept.quarantine))

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """See `Replica.manifest`."""
        kept = self.file.kinds[table.name]
        return kept.rows.manifest(buckets, kept.quarantine)

    def held_back(self, table: Table) -> Collection[str]:
        """See `Replica.held_back`."""
        return tuple(self.file.kinds[table.name].quarantine)

    def held(self, table: Table, keys: Sequence[str]) -> Sequence[Row]:
        """See `Replica.held`."""
        rows = self.file.kinds[table.name].rows
        return [rows[key] for key in keys if key in rows]

    def damaged(self, table: Table) -> Collection[str]:
        """See `Replica.damaged`."""
        kept = self.file.kinds[table.name]
        return [key for key in kept.rows.damaged() if key not in kept.quarantine]

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """See `Replica.heal`."""
        held = self.file.kinds[table.name].rows
        whole = [row for row in rows if healed(table, held.get(row.key), row)]
        for row in whole:
            held[row.key] = replace(held[row.key], values=row.values)
        return len(whole)

    def quarantined(self) -> int:
        """See `Replica.quarantined`."""
        return sum(len(kept.quarantine) for kept in self.file.kinds.values())

    def left(self) -> Left:
        """See `Replica.left`."""
        kinds = self.file.kinds
        held = {kind: len(kept.quarantine) for kind, kept in kinds.items() if kept.quarantine}
        waiting = [kept.rows[key].stamp.hlc for kept in kinds.values() for key in kept.outbox]
        oldest_ms = min(map(hlc_clock.wall_ms, waiting), default=None)
        age = None if oldest_ms is None else max(0, self.clock.now_ms() - oldest_ms) / 1000
        return Left(held, age)

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """See `Replica.requeue`."""
        for key in keys:
            self.file.queue(table.name, key)

    def losers(self) -> Sequence[Loser]:
        """See `Replica.losers`."""
        waiting = [
            loser for place, loser in self.file.losers.items() if place not in self.file.losers_sent
        ]
        return waiting[: limits.JOURNAL_MAX]

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """See `Replica.losers_sent`."""
        places = {(loser.kind, loser.row.key, loser.row.stamp) for loser in losers}
        self.file.losers_sent |= places & self.file.losers.keys()

    def record(self, report: Mapping[str, Any]) -> None:
        """See `Replica.record`."""
        self.file.reports.append(report)

    def _adopt(self) -> None:
        """Leave the hub of before, if there was one, and let everything be compared anew."""
        self.adopt = False
        self.succeed(ADOPTED)
        file = self.file
        file.hub_id, file.epoch, file.last_attempt, file.token = None, "", "", ""
        file.losers_sent = set()
        for kept in file.kinds.values():
            kept.cursor = 0
        file.due = ADOPTED
