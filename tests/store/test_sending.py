"""What a push takes out of the outbox, and who the replica says it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from machine import (
    HUB,
    NOON_MS,
    OTHER,
    Clock,
    accept,
    edit,
    held,
    queued,
    remote,
    send,
    welcome,
    write,
)

from satchel.store import attempts
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Row
from satchel_sync.clock import pack
from satchel_sync.digest import row_digest
from satchel_sync.errors import NeedsReconcile
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import (
    EMBEDDING,
    HISTORY,
    MEMORY,
    TABLES,
    TASK,
    Memory,
    Table,
    Task,
)
from satchel_sync.version import PROTOCOL, SCHEMA


def test_outgoing_rows_are_sealed_in_order_and_marked(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="b", content="two"), Memory(id="a", content="one"))
    end = replica.outbox_end()
    batch = replica.outgoing(MEMORY, 0, end)
    assert batch is not None
    assert [row.key for row in batch.rows] == ["b", "a"]
    assert batch.last_seq == end
    for row in batch.rows:
        assert row.stamp.digest == row_digest(MEMORY, row.key, row.values)
        assert row.stamp.origin == store.replica_id
        with store.read() as db:
            sent = db.execute("SELECT version FROM sync_base WHERE key = ?", (row.key,)).get
        assert sent == row.stamp.hex()
    assert replica.outgoing(MEMORY, batch.last_seq, end) is None
    assert replica.outgoing(TASK, 0, end) is None
    write(store, Memory(id="c"))
    assert replica.outgoing(MEMORY, batch.last_seq, end) is None


def test_a_batch_is_bounded_in_rows_and_bytes(
    store: Store, replica: SqliteReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, *(Memory(id=f"m{at:02}", content="x" * 1000) for at in range(10)))
    for name, limit in (("PUSH_ROWS_MAX", 3), ("PUSH_BYTES_MAX", 3500)):
        with monkeypatch.context() as patch:
            patch.setattr(f"satchel.store.sending.{name}", limit)
            end, after, sizes, keys = replica.outbox_end(), 0, [], []
            while batch := replica.outgoing(MEMORY, after, end):
                after = batch.last_seq
                sizes.append(len(batch.rows))
                keys += [row.key for row in batch.rows]
        assert sizes == [3, 3, 3, 1]
        assert keys == [f"m{at:02}" for at in range(10)]


def test_requeued_rows_travel_again_but_local_ones_never(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1"), Memory(id="m2"), Memory(id="secret", local=1))
    accept(replica, send(replica))
    replica.requeue(MEMORY, ["m2", "secret", "unknown"])
    assert queued(store) == ["m2"]


def test_an_attempt_keeps_its_id_until_it_is_closed(
    store: Store, replica: SqliteReplica, clock: Clock
) -> None:
    hello = replica.hello()
    assert hello.replica_id == store.replica_id
    assert (hello.protocol, hello.schema, hello.hub_id) == (PROTOCOL, SCHEMA, None)
    assert hello.columns["task"]["status"] == "t"
    assert set(hello.columns) == {table.name for table in TABLES}
    assert SqliteReplica(store).hello().attempt == hello.attempt
    replica.record({"ok": True})
    assert replica.hello().attempt != hello.attempt
    clock.ms += 91 * 24 * 3_600_000
    replica.record({"ok": False})
    with store.read() as db:
        (kept,) = attempts.reports(db)
    assert (kept["ok"], kept["at_ms"]) == (False, clock.ms)


def test_another_hub_is_met_only_when_it_is_adopted(store: Store, replica: SqliteReplica) -> None:
    replica.welcome(welcome(memory=5))
    replica.welcome(welcome(memory=5))
    write(store, Memory(id="m1"), Memory(id="secret", local=1))
    accept(replica, send(replica))
    replica.apply(MEMORY, [remote("m2", content="pulled")], 5)
    with pytest.raises(NeedsReconcile, match=HUB.hex()):
        replica.welcome(welcome(OTHER))
    assert replica.hello().hub_id == HUB
    adopting = SqliteReplica(store, adopt=True)
    adopting.welcome(welcome(OTHER, memory=1))
    assert adopting.hello().hub_id is None
    assert replica.hello().hub_id == OTHER
    assert adopting.cursor(MEMORY) == 0
    assert queued(store) == ["m1", "m2"]


def test_a_hub_that_was_set_back_is_pulled_anew(replica: SqliteReplica) -> None:
    replica.welcome(welcome(memory=5, task=5))
    replica.apply(MEMORY, [], 5)
    replica.apply(TASK, [], 5)
    replica.welcome(welcome(memory=4, task=9))
    assert (replica.cursor(MEMORY), replica.cursor(TASK)) == (0, 5)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_kind_travels_bit_for_bit(
    table: Table, store: Store, replica: SqliteReplica, tmp_path: Path
) -> None:
    extremes: dict[str, list[Any]] = {
        "t": ["", "é\U0001f600\r\n", None],
        "i": [-(2**63), 2**63 - 1, 0],
        "r": [1e-320, -1.7976931348623157e308, 0.1],
        "b": [b"", b"\0\xff", None],
    }
    page = []
    for at in range(3):
        content = (*(extremes[column.tag][at] for column in table.columns), None)
        stamp = Stamp(CREATED, pack(NOON_MS) + at, OTHER, row_digest(table, f"k{at}", content))
        page.append(Row(f"k{at}", stamp, "", content))
    replica.apply(table, page, 1)
    assert [held(store, row.key, table) for row in page] == page
    replica.requeue(table, [row.key for row in page])
    batch = replica.outgoing(table, 0, replica.outbox_end())
    assert batch is not None
    if table is EMBEDDING:
        assert (list(batch.rows), batch.quarantined) == (page[2:], 2)
    else:
        assert list(batch.rows) == page
    with Store.open(tmp_path / "second" / "satchel.db", durability="process") as second:
        SqliteReplica(second).apply(table, page, 1)
        assert [held(second, row.key, table) for row in page] == page


def test_history_of_edits_travels_too(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="one"), Task(id="t1", status="pending"))
    edit(store, "m1", content="two")
    (entry,) = send(replica, HISTORY)
    found = dict(zip((*HISTORY.names, "extra"), entry.values, strict=True))
    assert (found["kind"], found["key"], found["event"]) == ("memory", "m1", "update")
    assert entry.stamp.digest == row_digest(HISTORY, entry.key, entry.values)
