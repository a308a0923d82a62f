"""What the hub's answer does: clear, lift, stamp anew, quarantine, journal."""

from __future__ import annotations

from machine import (
    NOON_MS,
    Clock,
    accept,
    answer_to,
    edit,
    held,
    queued,
    remote,
    send,
    write,
)

from satchel.store import journal, quarantine
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Refusal
from satchel_sync.clock import AHEAD_MS_MAX, pack
from satchel_sync.stamp import lineage_of
from satchel_sync.tables import (
    MEMORY,
    Memory,
)


def test_an_acknowledged_version_leaves_the_outbox(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="one"))
    sent = send(replica)
    accept(replica, sent)
    assert queued(store) == []
    edit(store, "m1", content="two")
    assert held(store, "m1").lineage == sent[0].stamp.hex()
    assert queued(store) == ["m1"]


def test_an_edit_in_flight_stays_queued(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="one"))
    sent = send(replica)
    edit(store, "m1", content="two")
    accept(replica, sent)
    assert queued(store) == ["m1"]
    answer_to(replica, sent, refused=(Refusal("m1", "invalid"),))
    answer_to(replica, sent, superseded={"m1": remote("m1", NOON_MS + 5).version})
    assert queued(store) == ["m1"]
    assert held(store, "m1").lineage == sent[0].stamp.hex()
    assert replica.held_back(MEMORY) == frozenset()


def test_a_row_that_lost_is_cleared_and_journaled_once(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="mine"))
    sent = send(replica)
    theirs = remote("m1", NOON_MS + 60_000, content="theirs")
    settled = answer_to(replica, sent, superseded={"m1": theirs.version})
    assert (settled.conflicts, settled.restamped) == (1, 0)
    assert queued(store) == []
    (loser,) = replica.losers()
    assert (loser.kind, loser.row, loser.winner, loser.path) == (
        "memory", sent[0], theirs.stamp, "push",
    )  # fmt: skip
    assert answer_to(replica, sent, superseded={"m1": theirs.version}).conflicts == 0
    replica.losers_sent([loser])
    assert replica.losers() == []
    with store.read() as db:
        assert journal.listed(db) == [loser]


def test_a_row_that_the_hub_has_seen_already_is_no_conflict(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="mine"))
    sent = send(replica)
    builds_on = remote("m1", NOON_MS + 9, lineage=sent[0].stamp.hex(), content="later")
    assert answer_to(replica, sent, superseded={"m1": builds_on.version}).conflicts == 0
    assert queued(store) == []
    assert replica.losers() == []


def test_a_row_beaten_by_its_own_base_is_lifted_above_it(
    store: Store, replica: SqliteReplica
) -> None:
    base = remote("m1", NOON_MS + 3_600_000, content="from a fast clock")
    replica.apply(MEMORY, [base], 1)
    edit(store, "m1", content="built on it")
    with store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("UPDATE memory SET hlc = ?", (pack(NOON_MS),))
    (beaten,) = sent = send(replica)
    assert beaten.stamp < base.stamp
    settled = answer_to(replica, sent, superseded={"m1": base.version})
    lifted = held(store, "m1")
    assert (settled.restamped, settled.conflicts) == (1, 0)
    assert lifted.stamp > base.stamp
    assert lifted.values == beaten.values
    assert lineage_of(lifted.lineage)[0] == beaten.stamp.hex()
    assert base.stamp.hex() in lineage_of(lifted.lineage)
    assert queued(store) == ["m1"]
    write(store, Memory(id="m2"))
    assert held(store, "m2").stamp.hlc > lifted.stamp.hlc


def test_stamps_from_the_future_are_brought_back_in_order(
    store: Store, replica: SqliteReplica, clock: Clock
) -> None:
    write(store, Memory(id="old", content="before the clock went wrong"))
    clock.ms += 40 * 24 * 3_600_000
    for name in ("a", "b", "c"):
        write(store, Memory(id=name, content=name))
        clock.ms += 1
    offset_ms = clock.ms - NOON_MS
    clock.ms = NOON_MS + offset_ms
    sent = send(replica)[1:]
    refused = tuple(Refusal(row.key, "future") for row in sent)
    settled = answer_to(replica, sent, refused=refused, now_ms=NOON_MS, offset_ms=offset_ms)
    assert settled.restamped == 3
    anew = [held(store, name) for name in ("a", "b", "c")]
    stamps = [row.stamp.hlc for row in anew]
    assert stamps == sorted(set(stamps))
    assert max(stamps) <= pack(NOON_MS + 1)
    for before, after in zip(sent, anew, strict=True):
        assert after.lineage == before.stamp.hex()
        assert after.stamp.digest == before.stamp.digest
    assert set(queued(store)) == {"old", "a", "b", "c"}
    with store.read() as db:
        last = db.execute("SELECT last FROM clock").get
    assert last == held(store, "old").stamp.hlc
    assert last <= pack(NOON_MS + AHEAD_MS_MAX)


def test_other_refusals_go_to_the_quarantine_until_changed(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="odd"), Memory(id="m2", content="fine"))
    sent = send(replica)
    refused = (Refusal("m1", "invalid", "column content"),)
    assert answer_to(replica, sent, refused=refused).quarantined == 1
    assert queued(store) == ["m2"]
    assert replica.held_back(MEMORY) == {"m1"}
    with store.read() as db:
        (entry,) = quarantine.listed(db)
    assert (entry.kind, entry.key) == ("memory", "m1")
    assert "invalid (column content)" in entry.reason
    edit(store, "m1", content="better")
    assert [row.key for row in send(replica)] == ["m2", "m1"]
    assert replica.held_back(MEMORY) == frozenset()
