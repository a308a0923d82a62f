"""This machine's store as a sync sees it: `satchel_sync.ports.Replica` over SQLite.

Start reading here; the work is in `sending`, `settling`, `applying` and `checking`.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import apsw

from satchel.errors import StoreBusy, StoreUnusable
from satchel.store import (
    applying,
    attempts,
    checking,
    damage,
    identity,
    journal,
    outbox,
    quarantine,
    sending,
    settling,
    status,
    succession,
    touched,
    wiping,
)
from satchel.store.connection import Store
from satchel_sync.changes import (
    Applied,
    AuditBatch,
    AuditHeld,
    Batch,
    Digest,
    Hello,
    Left,
    Loser,
    PushAnswer,
    Reconciling,
    Row,
    Settled,
    Welcome,
)
from satchel_sync.limits import JOURNAL_MAX
from satchel_sync.stamp import Stamp
from satchel_sync.tables import TABLES, Table
from satchel_sync.version import PROTOCOL, SCHEMA


class AuditSource(Protocol):
    """What of this machine's audit chains waits for the hub."""

    def waiting(self, held: Mapping[str, AuditHeld], without: Collection[str] = ()) -> AuditBatch:
        """See `Replica.audit_waiting`."""
        ...

    def sent(self, held: Mapping[str, AuditHeld]) -> None:
        """See `Replica.audit_sent`."""
        ...

    def keep(self, db: apsw.Connection) -> None:
        """Write down, in this transaction, what was sent."""
        ...


class SqliteReplica:
    """A `Store` that can be synced. Every call is one local transaction.

    A write transaction begins with sealing what was written by hand.

    `adopt` lets a file of another hub, or of none, join the one that answers: it takes a new id and
    is reconciled. `version` is the program's, for the hub's records; `path` names in the journal
    how rows come in (`pull`, `bundle`). Without `audit` no audit is sent.
    """

    def __init__(
        self,
        store: Store,
        *,
        adopt: bool = False,
        version: str = "",
        path: str = "pull",
        audit: AuditSource | None = None,
    ) -> None:
        self._store = store
        self._adopt = adopt
        self._version = version
        self._path = path
        self._audit = audit

    def hello(self) -> Hello:
        """Who we are; an attempt that was never answered is named again."""
        with self._store.write() as db:
            if self._adopt:
                attempts.adopt(db)
            hello = replace(self.identity_in(db), attempt=attempts.begin(db))
        self._adopt = False
        self._store.replica_id = hello.replica_id
        return hello

    def identity_in(self, db: apsw.Connection) -> Hello:
        """Who this file is, without an attempt. Raises NeedsReconcile for rows of nobody's hub."""
        attempts.require_own(db)
        succession.said(db)
        return Hello(
            replica_id=identity.load(db),
            attempt="",
            protocol=PROTOCOL,
            schema=SCHEMA,
            columns={table.name: _columns(table) for table in TABLES},
            hub_id=attempts.hub_id(db),
            epoch=attempts.word(db, "epoch"),
            predecessors=succession.predecessors(db),
            last_attempt=attempts.word(db, "last_attempt"),
            token=attempts.word(db, "token"),
            cursors=attempts.cursors(db),
            succeeded=attempts.word(db, "succeeded_why"),
            reconcile=attempts.due(db),
            host=platform.node(),
            version=self._version,
        )

    def welcome(self, welcome: Welcome) -> None:
        """Remember the hub, the link and what is due. Raises NeedsReconcile for another hub."""
        with self._store.write() as db:
            attempts.meet(db, welcome)

    def link(self) -> str:
        """The attempt that was last answered, by whatever process."""
        with self._store.read() as db:
            return attempts.word(db, "last_attempt")

    def succeed(self, why: str) -> None:
        """Take a new id; the one of before is its predecessor."""
        with self._store.write() as db:
            succession.succeed(db, why)
            new = identity.load(db)
        self._store.replica_id = new

    def due(self) -> str:
        """Why this file has to be reconciled; "" when it has not."""
        with self._store.read() as db:
            return attempts.due(db)

    def reconciled(self, done: Reconciling) -> None:
        """Set epoch and cursors and forget why."""
        with self._store.write() as db:
            attempts.reconciled(db, done)

    def outbox_end(self) -> int:
        """The highest local sequence; what was written by hand is sealed and counted first."""
        with self._store.write() as db:
            return outbox.end(db)

    def unsent(self, upto: int) -> Mapping[str, int]:
        """What was queued up to there and still waits, by kind."""
        with self._store.read() as db:
            return outbox.waiting(db, upto)

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """The next rows to send, marked as sent when this returns."""
        with self._store.write() as db:
            return sending.next_batch(db, table, after, upto, self._store.now_ms())

    def settle(
        self, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int
    ) -> Settled:
        """Do what the hub's answer asks for."""
        with self._store.write() as db:
            if answer.token:
                attempts.set_meta(db, "token", answer.token)
            return settling.settle(db, table, sent, answer, offset_ms, self._store.now_ms())

    def cursor(self, table: Table) -> int:
        """How far this kind was pulled."""
        with self._store.read() as db:
            return checking.cursor(db, table)

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """Merge pulled rows and move the cursor, both or neither.

        Where the text index does not fit the rows it is made anew, or no sync could ever go on.
        """
        try:
            return self._apply(table, rows, cursor)
        except StoreUnusable as error:
            if not isinstance(error.__cause__, apsw.CorruptError):
                raise
        with self._store.write() as db:
            damage.index_anew(db, table)
        return self._apply(table, rows, cursor)

    def _apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        path = "reconcile" if cursor is None and self._path == "pull" else self._path
        with self._store.write() as db:
            return applying.apply(db, table, rows, cursor, self._store.now_ms(), path)

    def digest(self, table: Table, *, settled: bool = True) -> Digest | None:
        """Buckets of what should be at the hub; None while rows wait, unless `settled` is False."""
        with self._store.write() as db:
            return checking.digest(db, table, self._store.now_ms(), settled=settled)

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets that should be at the hub."""
        with self._store.write() as db:
            return checking.manifest(db, table, buckets)

    def held_back(self, table: Table) -> Collection[str]:
        """Keys that the hub may know of rows that stay here: quarantined ones and local ones."""
        with self._store.read() as db:
            return quarantine.keys(db, table) | checking.kept_from_hub(db, table)

    def held(self, table: Table, keys: Sequence[str]) -> Sequence[Row]:
        """Rows by key as they are held now; missing and local ones, and what cannot travel, not."""
        with self._store.write() as db:
            return damage.held(db, table, keys)

    def damaged(self, table: Table) -> Collection[str]:
        """Keys of rows whose content does not fit their digest; reads every row of the kind."""
        with self._store.write() as db:
            checking.forget_sums(db, table)
        with self._store.read() as db:
            return damage.damaged(db, table)

    def heal(self, table: Table, rows: Sequence[Row]) -> int:
        """Put content back into damaged rows that are held in just this version; how many."""
        with self._store.write() as db:
            return damage.heal(db, table, rows)

    def quarantined(self) -> int:
        """How many rows cannot travel as they are."""
        with self._store.read() as db:
            return quarantine.count(db)

    def left(self) -> Left:
        """What is held back by kind, and how long the oldest row waits that can travel."""
        with self._store.read() as db:
            return status.left(db, self._store.now_ms())

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """Put rows into the outbox again."""
        with self._store.write() as db:
            outbox.put(db, table, sorted(keys))

    def losers(self) -> Sequence[Loser]:
        """The next journal entries that the hub does not have yet."""
        with self._store.read() as db:
            return journal.listed(db, unsent=True, limit=JOURNAL_MAX)

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """Mark journal entries as known to the hub."""
        with self._store.write() as db:
            journal.sent(db, losers)

    def audit_waiting(
        self, held: Mapping[str, AuditHeld], without: Collection[str] = ()
    ) -> AuditBatch:
        """The next audit records behind those that the hub holds."""
        return self._audit.waiting(held, without) if self._audit else AuditBatch()

    def audit_sent(self, held: Mapping[str, AuditHeld]) -> None:
        """Remember how far the hub has the chains; it is kept with the report."""
        if self._audit:
            self._audit.sent(held)

    def record(self, report: Mapping[str, Any]) -> None:
        """Keep the report of this attempt, done or failed."""
        with self._store.write() as db:
            if self._audit:
                self._audit.keep(db)
            attempts.end(db, report, self._store.now_ms())
            if moved := _moved(report):
                touched.tell("synced", {"path": self._path, **moved})
        with suppress(StoreBusy):  # what a pull scrubbed stays owed, to be wiped after the next
            wiping.wipe(self._store)


def _moved(report: Mapping[str, Any]) -> dict[str, str | int]:
    """What a report counts of rows that came or went; nothing where none did."""
    kinds = report.get("kinds") or {}
    counts: dict[str, str | int] = {
        name: sum(int(one.get(name) or 0) for one in kinds.values()) for name in ("sent", "pulled")
    }
    counts["restamped"] = int(report.get("restamped") or 0)
    counts["repaired"] = sum(map(len, (report.get("repaired") or {}).values()))
    return {name: count for name, count in counts.items() if count}


def _columns(table: Table) -> dict[str, str]:
    return {column.name: column.tag for column in table.columns}
