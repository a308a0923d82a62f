"""A hub in a dict: for tests and simulation, under the same contract suite as the warehouse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from satchel_sync import limits, restamp
from satchel_sync.changes import (
    Digest,
    Hello,
    Loser,
    Page,
    PushAnswer,
    Refusal,
    Row,
    Version,
    Welcome,
)
from satchel_sync.digest import bucket_of, sums
from satchel_sync.errors import HubRefused
from satchel_sync.merge import Verdict, decide, journaled, newest
from satchel_sync.ports import Clock
from satchel_sync.stamp import Stamp
from satchel_sync.tables import COLUMN_TAGS, TABLES, Table
from satchel_sync.validity import reason_invalid
from satchel_sync.version import PROTOCOL, SCHEMA


class MemoryHub:
    """A hub in a dict. `now_ms` of its clock may be wrong: that is what tests are for."""

    def __init__(self, clock: Clock, hub_id: bytes = b"\xee" * 16) -> None:
        self.clock = clock
        self.hub_id = hub_id
        self.rows: dict[str, dict[str, Row]] = {table.name: {} for table in TABLES}
        self.seqs: dict[str, dict[str, int]] = {table.name: {} for table in TABLES}
        self.losers: dict[tuple[str, str, Stamp], Loser] = {}
        self.revoked: set[bytes] = set()
        self.reports: list[Mapping[str, Any]] = []
        self.last_seq = 0

    def hello(self, hello: Hello) -> Welcome:
        """See `Hub.hello`."""
        if hello.replica_id in self.revoked:
            raise HubRefused("this replica was revoked")
        return Welcome(
            self.hub_id, PROTOCOL, SCHEMA, COLUMN_TAGS, self.bound(), self.clock.now_ms()
        )

    def bound(self) -> Mapping[str, int]:
        """See `Hub.bound`."""
        return {kind: max(seqs.values(), default=0) for kind, seqs in self.seqs.items()}

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """See `Hub.push`."""
        accepted: list[str] = []
        superseded: dict[str, Version] = {}
        refused: list[Refusal] = []
        before = len(self.losers)
        for row in newest(rows):
            reason = reason_invalid(table, row)
            if reason:
                refused.append(Refusal(row.key, "invalid", reason))
                continue
            held = self.rows[table.name].get(row.key)
            if restamp.future(row, held.stamp.hlc if held else 0, self.clock.now_ms()):
                refused.append(Refusal(row.key, "future"))
                continue
            verdict = decide(held.version if held else None, row.version)
            if held is not None and verdict.concurrent:
                self._lose(table, held, row, verdict)
            if verdict.replaces:
                self._store(table, row)
            if verdict.replaces or verdict is Verdict.SAME or held is None:
                accepted.append(row.key)
            else:
                superseded[row.key] = held.version
        return PushAnswer(
            tuple(accepted),
            superseded,
            tuple(refused),
            len(self.losers) - before,
            self.clock.now_ms(),
        )

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """See `Hub.pull`."""
        seqs = self.seqs[table.name]
        due = sorted((seq, key) for key, seq in seqs.items() if after < seq <= upto)
        page = due[: limits.PULL_ROWS_MAX]
        rows = tuple(self.rows[table.name][key] for _, key in page)
        return Page(rows, upto if len(page) == len(due) else page[-1][0])

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """See `Hub.digests`."""
        bound = self.bound()
        return {
            kind: Digest(bound[kind], sums(kind, self._versions(kind, keys)))
            for kind, keys in without.items()
        }

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """See `Hub.manifest`."""
        return {
            key: stamp
            for key, stamp in self._versions(table.name, ())
            if bucket_of(table.name, key) in buckets
        }

    def fetch(self, table: Table, keys: Collection[str]) -> Sequence[Row]:
        """See `Hub.fetch`."""
        rows = self.rows[table.name]
        return [rows[key] for key in keys if key in rows]

    def journal(self, losers: Sequence[Loser]) -> None:
        """See `Hub.journal`."""
        for loser in losers:
            self.losers.setdefault((loser.kind, loser.row.key, loser.row.stamp), loser)

    def bye(self, report: Mapping[str, Any]) -> None:
        """See `Hub.bye`."""
        self.reports.append(report)

    def _versions(self, kind: str, without: Collection[str]) -> list[tuple[str, Stamp]]:
        return [(k, row.stamp) for k, row in self.rows[kind].items() if k not in without]

    def _store(self, table: Table, row: Row) -> None:
        self.last_seq += 1
        self.rows[table.name][row.key] = row
        self.seqs[table.name][row.key] = self.last_seq

    def _lose(self, table: Table, held: Row, row: Row, verdict: Verdict) -> None:
        winner, loser = (row, held) if verdict.replaces else (held, row)
        if journaled(table, loser.values, winner.values):
            self.journal([Loser(table.name, loser, winner.stamp, "push", self.clock.now_ms())])
