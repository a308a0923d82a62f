"""A machine under test: its clock, its writes, rows of another machine, a hub's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from satchel.store import outbox, rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer, Refusal, Row, Version, Welcome
from satchel_sync.clock import pack
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import (
    MEMORY,
    Table,
)
from satchel_sync.version import PROTOCOL, SCHEMA

NOON_MS = 1_800_000_000_000
HUB = b"\xee" * 16
OTHER = b"\x02" * 16


@dataclass
class Clock:
    ms: int = NOON_MS

    def now_ms(self) -> int:
        return self.ms


def values(table: Table, **columns: Any) -> tuple[Any, ...]:
    return (*(columns.get(name) for name in table.names), columns.get("extra"))


def remote(
    key: str, hlc_ms: int = NOON_MS, life: int = CREATED, lineage: str = "", **columns: Any
) -> Row:
    """A memory as another machine wrote it."""
    content = values(MEMORY, **columns)
    stamp = Stamp(life, pack(hlc_ms), OTHER, row_digest(MEMORY, key, content))
    return Row(key, stamp, lineage, content)


def write(store: Store, *written: object) -> None:
    with store.write() as db:
        for row in written:
            rows.insert(db, row)


def edit(store: Store, key: str, **columns: Any) -> None:
    with store.write() as db:
        rows.update(db, MEMORY, key, **columns)


def held(store: Store, key: str, table: Table = MEMORY) -> Row:
    with store.read() as db:
        found = outbox.row(db, table, key)
    assert found is not None
    return found


def queued(store: Store, table: Table = MEMORY) -> list[str]:
    with store.read() as db:
        found = db.execute(
            "SELECT key FROM outbox WHERE kind = ? ORDER BY local_seq", (table.name,)
        )
        return [str(key) for (key,) in found]


def send(replica: SqliteReplica, table: Table = MEMORY) -> tuple[Row, ...]:
    batch = replica.outgoing(table, 0, replica.outbox_end())
    return () if batch is None else batch.rows


def accept(replica: SqliteReplica, sent: tuple[Row, ...], table: Table = MEMORY) -> None:
    replica.settle(table, sent, PushAnswer(tuple(row.key for row in sent), now_ms=NOON_MS), 0)


def answer_to(
    replica: SqliteReplica,
    sent: tuple[Row, ...],
    *,
    superseded: Mapping[str, Version] | None = None,
    refused: tuple[Refusal, ...] = (),
    now_ms: int = NOON_MS,
    offset_ms: int = 0,
) -> Any:
    answer = PushAnswer((), superseded or {}, refused, now_ms=now_ms)
    return replica.settle(MEMORY, sent, answer, offset_ms)


def welcome(hub_id: bytes = HUB, **seqs: int) -> Welcome:
    return Welcome(hub_id, PROTOCOL, SCHEMA, {}, seqs, NOON_MS)
