"""This machine's store as a sync sees it: `satchel_sync.ports.Replica` over SQLite.

Start reading here; the work is in `sending`, `settling`, `applying` and `checking`.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from satchel.store import (
    applying,
    attempts,
    checking,
    journal,
    outbox,
    quarantine,
    sending,
    settling,
)
from satchel.store.connection import Store
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
from satchel_sync.stamp import Stamp
from satchel_sync.tables import TABLES, Table
from satchel_sync.version import PROTOCOL, SCHEMA


class SqliteReplica:
    """A `Store` that can be synced. Every call is one local transaction.

    A write transaction begins with sealing what was written by hand.

    `adopt` lets another hub than the one of before take over: everything is pulled and queued anew.
    `version` is the program's, for the hub's records.
    """

    def __init__(self, store: Store, *, adopt: bool = False, version: str = "") -> None:
        self._store = store
        self._adopt = adopt
        self._version = version

    def hello(self) -> Hello:
        """Who we are; an attempt that was never closed is named again."""
        with self._store.write() as db:
            return Hello(
                replica_id=self._store.replica_id,
                attempt=attempts.begin(db),
                protocol=PROTOCOL,
                schema=SCHEMA,
                columns={table.name: _columns(table) for table in TABLES},
                hub_id=None if self._adopt else attempts.hub_id(db),
                host=platform.node(),
                version=self._version,
            )

    def welcome(self, welcome: Welcome) -> None:
        """Remember the hub. Raises NeedsReconcile for another one, or one that was set back."""
        with self._store.write() as db:
            attempts.meet(db, welcome, adopt=self._adopt)

    def outbox_end(self) -> int:
        """The highest local sequence; what was written by hand is sealed and counted first."""
        with self._store.write() as db:
            return outbox.end(db)

    def outgoing(self, table: Table, after: int, upto: int) -> Batch | None:
        """The next rows to send, marked as sent when this returns."""
        with self._store.write() as db:
            return sending.next_batch(db, table, after, upto, self._store.now_ms())

    def settle(
        self, table: Table, sent: Sequence[Row], answer: PushAnswer, offset_ms: int
    ) -> Settled:
        """Do what the hub's answer asks for."""
        with self._store.write() as db:
            return settling.settle(db, table, sent, answer, offset_ms, self._store.now_ms())

    def cursor(self, table: Table) -> int:
        """How far this kind was pulled."""
        with self._store.read() as db:
            return checking.cursor(db, table)

    def apply(self, table: Table, rows: Sequence[Row], cursor: int | None) -> Applied:
        """Merge pulled rows and move the cursor, both or neither."""
        with self._store.write() as db:
            return applying.apply(db, table, rows, cursor, self._store.now_ms())

    def digest(self, table: Table) -> Digest | None:
        """Buckets of what should be at the hub; None while rows of this kind wait."""
        with self._store.write() as db:
            return checking.digest(db, table)

    def manifest(self, table: Table, buckets: Collection[int]) -> Mapping[str, Stamp]:
        """Key -> stamp of every row in these buckets that should be at the hub."""
        with self._store.write() as db:
            return checking.manifest(db, table, buckets)

    def held_back(self, table: Table) -> Collection[str]:
        """Keys that the hub may know of rows that stay here: quarantined ones and local ones."""
        with self._store.read() as db:
            return quarantine.keys(db, table) | checking.kept_from_hub(db, table)

    def quarantined(self) -> int:
        """How many rows cannot travel as they are."""
        with self._store.read() as db:
            return quarantine.count(db)

    def requeue(self, table: Table, keys: Collection[str]) -> None:
        """Put rows into the outbox again."""
        with self._store.write() as db:
            outbox.put(db, table, sorted(keys))

    def losers(self) -> Sequence[Loser]:
        """Journal entries that the hub does not have yet."""
        with self._store.read() as db:
            return journal.listed(db, unsent=True)

    def losers_sent(self, losers: Sequence[Loser]) -> None:
        """Mark journal entries as known to the hub."""
        with self._store.write() as db:
            journal.sent(db, losers)

    def record(self, report: Mapping[str, Any]) -> None:
        """Keep the report of this attempt and close it."""
        with self._store.write() as db:
            attempts.end(db, report, self._store.now_ms())


def _columns(table: Table) -> dict[str, str]:
    return {column.name: column.tag for column in table.columns}
