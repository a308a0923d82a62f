"""A hub in a dict: for tests and simulation, under the same contract suite as the warehouse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from satchel_sync import limits
from satchel_sync.changes import (
    Access,
    AuditAnswer,
    AuditPart,
    Digest,
    Fetched,
    Hello,
    Loser,
    Page,
    PushAnswer,
    Reconciling,
    Row,
    Standing,
    Welcome,
)
from satchel_sync.errors import HubRefused, HubUnreachable, NeedsReconcile, VersionsDiffer
from satchel_sync.in_memory.hub_identity import found_rewound, known_of, open_attempt
from satchel_sync.in_memory.hub_merge import journal, merge_rows
from satchel_sync.in_memory.hub_state import Attempt, HubState, drawn
from satchel_sync.in_memory.rows import healed
from satchel_sync.ports import Clock
from satchel_sync.stamp import Stamp
from satchel_sync.standing import judge
from satchel_sync.tables import COLUMN_TAGS, Table, Value
from satchel_sync.version import PROTOCOL, PROTOCOL_MIN, SCHEMA, SCHEMA_MIN


class MemoryHub:
    """One replica's connection to a hub in a dict; `connect` makes another to the same hub.

    `now_ms` of its clock may be wrong: that is what tests are for. `draw` gives 32 hex digits that
    were never given before, for tokens and epochs.
    """

    def __init__(
        self, clock: Clock, state: HubState | None = None, draw: Callable[[], str] = drawn
    ) -> None:
        self.clock = clock
        self.draw = draw
        self.state = state or HubState(epoch=draw()[:16])
        self.said: Hello | None = None
        self.standby = False

    def connect(self) -> MemoryHub:
        """A connection of another replica to the same hub."""
        return MemoryHub(self.clock, self.state, self.draw)

    def snapshot(self) -> HubState:
        """A backup."""
        return self.state.copied()

    def restore(self, backup: HubState) -> None:
        """Set the hub back to a backup; every connection is cut."""
        self.state.become(backup)

    def damage(self, table: Table, key: str, values: Sequence[Value]) -> None:
        """Write past the triggers: other content in the same version."""
        rows = self.state.rows[table.name]
        rows[key] = replace(rows[key], values=tuple(values))

    def hello(self, hello: Hello) -> Welcome:
        """See `Hub.hello`."""
        self.said = None
        access = _access(hello)
        standing = Standing.KNOWN
        if access is not Access.UPGRADE_REQUIRED:
            self._refuse(hello)
            standing = judge(hello, known_of(self.state, hello))
            if standing is not Standing.RESTORED:
                open_attempt(self.state, hello, standing)
                self.said = hello
        return Welcome(
            self.state.hub_id,
            PROTOCOL,
            SCHEMA,
            COLUMN_TAGS,
            self.state.bound(),
            self.clock.now_ms(),
            self.standby,
            self.state.epoch,
            standing,
            access,
            self.state.audit.held_of(hello.replica_id),
        )

    def reconcile(self) -> Reconciling:
        """See `Hub.reconcile`."""
        attempt = self._attempt()
        if attempt.reconciling is None:
            if found_rewound(self.state, attempt.hello.replica_id):
                self.state.epoch = self.draw()[:16]
            attempt.reconciling = Reconciling(self.state.epoch, self.state.bound())
        return attempt.reconciling

    def reconciled(self, seqs: Mapping[str, int]) -> None:
        """See `Hub.reconciled`."""
        replica = self.state.register(self._attempt().hello.replica_id)
        for kind, seq in seqs.items():
            self._delivered(kind, seq)
        replica.must_reconcile = False

    def push(self, table: Table, rows: Sequence[Row]) -> PushAnswer:
        """See `Hub.push`."""
        attempt = self._writer()
        answer = merge_rows(self.state, table, rows, attempt, self.clock.now_ms())
        return replace(answer, token=self._token())

    def pull(self, table: Table, after: int, upto: int) -> Page:
        """See `Hub.pull`."""
        self._attempt()
        due: list[tuple[int, str]] = []
        for key, seq in reversed(self.state.seqs[table.name].items()):
            if seq <= after:
                break
            if seq <= upto:
                due.append((seq, key))
        due.reverse()
        page = due[: limits.PULL_ROWS_MAX]
        rows = tuple(self.state.rows[table.name][key] for _, key in page)
        cursor = upto if len(page) == len(due) else page[-1][0]
        self._delivered(table.name, min(cursor, self.state.bound()[table.name]))
        return Page(rows, cursor)

    def bound(self) -> Mapping[str, int]:
        """See `Hub.bound`."""
        self._attempt()
        return self.state.bound()

    def digests(self, without: Mapping[str, Collection[str]]) -> Mapping[str, Digest]:
        """See `Hub.digests`."""
        self._attempt()
        bound, rows = self.state.bound(), self.state.rows
        return {
            kind: Digest(bound[kind], rows[kind].sums_without(keys))
            for kind, keys in without.items()
        }

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """See `Hub.manifest`."""
        self._attempt()
        return self.state.rows[table.name].manifest(buckets, ())

    def fetch(self, table: Table, keys: Sequence[str]) -> Fetched:
        """See `Hub.fetch`."""
        self._attempt()
        rows = self.state.rows[table.name]
        there = [key for key in keys if key in rows]
        page = there[: limits.PULL_ROWS_MAX]
        return Fetched(tuple(rows[key] for key in page), tuple(there[len(page) :]))

    def damaged(self, table: Table) -> Collection[str]:
        """See `Hub.damaged`."""
        self._attempt()
        return self.state.rows[table.name].damaged()

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """See `Hub.heal`."""
        self._attempt()
        held = self.state.rows[table.name]
        whole = [row for row in rows if healed(table, held.get(row.key), row)]
        for row in whole:
            held[row.key] = replace(held[row.key], values=row.values)
        return len(whole)

    def journal(self, losers: Sequence[Loser]) -> None:
        """See `Hub.journal`."""
        self._writer()
        journal(self.state, losers)

    def audit(self, parts: Sequence[AuditPart]) -> AuditAnswer:
        """See `Hub.audit`."""
        replica_id, audit = self._attempt().hello.replica_id, self.state.audit
        found = {part.chain: audit.take(replica_id, part) for part in parts}
        return AuditAnswer(
            {chain: audit.held(replica_id, chain) for chain in found},
            sum(taken for taken, _, _ in found.values()),
            {chain: why for chain, (_, why, _) in found.items() if why},
            any(anew for _, _, anew in found.values()),
        )

    def bye(self, report: Mapping[str, Any], parts: Sequence[AuditPart] = ()) -> AuditAnswer:
        """See `Hub.bye`."""
        answer = self.audit(parts)
        self.state.reports.append(report)
        return answer

    def _refuse(self, hello: Hello) -> None:
        if self.state.shuts_out(hello.replica_id, hello.predecessors):
            raise HubRefused("this replica was revoked")
        if hello.hub_id not in (None, self.state.hub_id):
            raise NeedsReconcile(
                "this file belongs to another warehouse", hint="satchel sync --adopt"
            )

    def _attempt(self) -> Attempt:
        """The attempt of this connection, which a hub that was set back does not know."""
        said = self.said
        attempt = said and self.state.attempts.get((said.replica_id, said.attempt))
        if not said or not attempt:
            raise HubUnreachable("no attempt is open: say hello first")
        if self.state.registered(said.replica_id).revoked:
            raise HubRefused("this replica was revoked")
        return attempt

    def _writer(self) -> Attempt:
        """The same for a program that may write."""
        attempt = self._attempt()
        if _access(attempt.hello) is not Access.OK:
            raise VersionsDiffer("the warehouse takes no rows of so old a schema")
        return attempt

    def _delivered(self, kind: str, seq: int) -> None:
        delivered = self.state.register(self._attempt().hello.replica_id).delivered
        delivered[kind] = max(delivered.get(kind, 0), seq)

    def _token(self) -> str:
        token = self.draw()
        self.state.give(token, self._attempt().hello.replica_id)
        return token


def _access(hello: Hello) -> Access:
    if not PROTOCOL_MIN <= hello.protocol <= PROTOCOL:
        return Access.UPGRADE_REQUIRED
    return Access.READ_ONLY if hello.schema < SCHEMA_MIN else Access.OK
