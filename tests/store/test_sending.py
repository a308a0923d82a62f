"""What a push takes out of the outbox, and who the replica says it is."""

from __future__ import annotations

from dataclasses import replace
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

from satchel.store import attempts, rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer, Reconciling, Row, Standing
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
    Space,
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


def test_hello_names_all_that_a_hub_judges_by(store: Store, replica: SqliteReplica) -> None:
    hello = replica.hello()
    assert hello.replica_id == store.replica_id
    assert (hello.protocol, hello.schema, hello.hub_id) == (PROTOCOL, SCHEMA, None)
    assert hello.columns["task"]["status"] == "t"
    assert set(hello.columns) == {table.name for table in TABLES}
    assert (hello.epoch, hello.last_attempt, hello.token, hello.reconcile) == ("", "", "", "")
    replica.welcome(replace(welcome(), epoch="e1"))
    write(store, Memory(id="m1"))
    sent = send(replica)
    replica.settle(MEMORY, sent, PushAnswer(("m1",), token="t1", now_ms=NOON_MS), 0)
    replica.apply(TASK, [], 7)
    second = SqliteReplica(store).hello()
    assert (second.hub_id, second.epoch) == (HUB, "e1")
    assert (second.last_attempt, second.token) == (hello.attempt, "t1")
    assert second.cursors == {"task": 7}


def test_an_attempt_keeps_its_id_until_it_is_answered(store: Store, replica: SqliteReplica) -> None:
    attempt = replica.hello().attempt
    replica.record({"error": "no answer"})
    assert SqliteReplica(store).hello().attempt == attempt
    replica.welcome(welcome())
    replica.record({"ok": True})
    assert replica.hello().attempt != attempt


def test_every_report_is_kept_for_90_days(
    store: Store, replica: SqliteReplica, clock: Clock
) -> None:
    attempt = replica.hello().attempt
    for number in range(3):
        replica.record({"number": number})
    with store.read() as db:
        found = attempts.reports(db)
    assert [(one["number"], one["attempt"]) for one in found] == [(n, attempt) for n in (2, 1, 0)]
    clock.ms += 91 * 24 * 3_600_000
    replica.record({"number": 3})
    with store.read() as db:
        (kept,) = attempts.reports(db)
    assert (kept["number"], kept["at_ms"]) == (3, clock.ms)


def test_another_hub_is_met_only_when_it_is_adopted(store: Store, replica: SqliteReplica) -> None:
    for _ in range(2):
        replica.hello()
        replica.welcome(welcome(memory=5))
    write(store, Memory(id="m1"), Memory(id="secret", local=1))
    accept(replica, send(replica))
    replica.apply(MEMORY, [remote("m2", content="pulled")], 5)
    before = replica.hello()
    with pytest.raises(NeedsReconcile, match=HUB.hex()):
        replica.welcome(welcome(OTHER))
    assert replica.hello() == before
    adopting = SqliteReplica(store, adopt=True)
    hello = adopting.hello()
    assert (hello.hub_id, hello.last_attempt, hello.token, hello.cursors) == (None, "", "", {})
    assert (hello.reconcile, hello.predecessors) == ("adopted", (before.replica_id,))
    assert adopting.hello() == hello, "once"
    adopting.welcome(welcome(OTHER, memory=1))
    assert (replica.hello().hub_id, replica.due()) == (OTHER, "adopted")
    assert (replica.cursor(MEMORY), queued(store)) == (0, [])


def test_a_file_with_rows_of_others_and_no_hub_is_not_joined_silently(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1"))
    with store.write() as db:
        rows.insert_lowest(db, Space(name="board"))
    replica.hello()
    replica.apply(MEMORY, [remote("m2", content="from where?")], 5)
    with pytest.raises(NeedsReconcile, match="memory"):
        replica.hello()
    assert SqliteReplica(store, adopt=True).hello().reconcile == "adopted"


@pytest.mark.parametrize("standing", [Standing.REWOUND, Standing.MOVED])
def test_what_is_due_stays_until_it_is_done(
    store: Store, replica: SqliteReplica, standing: Standing
) -> None:
    replica.hello()
    replica.welcome(replace(welcome(memory=5), epoch="e1"))
    replica.apply(MEMORY, [], 5)
    replica.apply(TASK, [], 3)
    replica.hello()
    replica.welcome(replace(welcome(), epoch="e2", standing=standing))
    replica.hello()
    replica.welcome(replace(welcome(), epoch="e3"))
    hello = SqliteReplica(store).hello()
    assert (hello.reconcile, hello.epoch) == (standing.value, "e1")
    replica.reconciled(Reconciling("e3", {"memory": 2}))
    hello = replica.hello()
    assert (hello.reconcile, hello.epoch, hello.cursors) == ("", "e3", {"memory": 2})


def test_a_new_id_names_the_one_of_before(store: Store, replica: SqliteReplica) -> None:
    first = replica.hello()
    replica.welcome(welcome())
    second = replica.hello()
    replica.succeed("restored")
    third = replica.hello()
    assert third.predecessors == (first.replica_id,)
    assert third.replica_id == store.replica_id != first.replica_id
    assert (third.last_attempt, third.hub_id) == (first.attempt, HUB)
    assert third.attempt not in (first.attempt, second.attempt)
    write(store, Memory(id="m1"))
    assert send(replica)[0].stamp.origin == third.replica_id


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
