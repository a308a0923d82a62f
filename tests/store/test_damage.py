"""What a hand or a forged row can leave: it is mended or held back, and nothing stops for it."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import add, seal, version
from hand import Hand
from machine import NOON_MS, OTHER, Clock, accept, edit, held, queued, remote, send, values, write

from satchel.store import quarantine, rows, status
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Row
from satchel_sync.clock import HLC_MAX, pack, tick
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, GENERATION, INT64_MAX, Stamp
from satchel_sync.tables import (
    EMBEDDING,
    MEMORY,
    RELATIONSHIP,
    SPACE,
    Embedding,
    Memory,
    Relationship,
    Space,
)
from satchel_sync.validity import whole


@pytest.mark.parametrize(
    ("bad", "kept"),
    [
        ("CAST(x'61EDA080' AS TEXT)", "a\\xed\\xa0\\x80"),
        ("'a' || char(0)", "a\\0"),
        ("x'ff'", "\\xff"),
    ],
)
def test_a_row_that_cannot_travel_loses_to_a_pulled_one(
    bad: str, kept: str, by_hand: Hand, store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="first"))
    accept(replica, send(replica))
    by_hand.execute(f"UPDATE memory SET content = {bad} WHERE id = 'm1'")
    assert send(replica) == ()
    theirs = remote("m1", NOON_MS + 60_000, content="theirs")
    done = replica.apply(MEMORY, [theirs, remote("m2", content="another")], 1)
    assert (done.applied, done.conflicts) == (2, 1)
    assert held(store, "m1") == theirs
    (loser,) = replica.losers()
    assert loser.row.values == values(MEMORY, content=kept)
    assert replica.quarantined() == 0


def test_a_row_that_is_no_utf8_is_read_as_bytes(by_hand: Hand, store: Store) -> None:
    by_hand.execute("INSERT INTO memory(id, content) VALUES('m1', CAST(x'61ff' AS TEXT))")
    with store.read() as db:
        assert rows.get(db, MEMORY, "m1").content == b"a\xff"


@pytest.mark.parametrize("bad", ["CAST(x'61EDA080' AS TEXT)", "'a' || char(0) || 'b'", "x'6b'"])
def test_a_key_that_no_hub_can_hold_is_not_named_to_it(
    bad: str, by_hand: Hand, store: Store, replica: SqliteReplica
) -> None:
    by_hand.execute(f"INSERT INTO memory(id, content) VALUES({bad}, 'x')")
    assert send(replica) == ()
    assert (replica.quarantined(), replica.held_back(MEMORY)) == (1, frozenset())


@pytest.mark.parametrize("deleted", [False, True])
def test_a_pulled_row_leaves_a_local_one_of_its_key_alone(
    deleted: bool, store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="x", content="secret", local=1), Memory(id="alone", local=1))
    if deleted:
        with store.write() as db:
            rows.delete(db, MEMORY, "x")
    before = held(store, "x")
    assert replica.held_back(MEMORY) == frozenset()
    page = [remote("x", NOON_MS + 60_000, content="theirs"), remote("y", content="hello")]
    assert replica.apply(MEMORY, page, 1).applied == 1
    assert held(store, "x") == before
    assert replica.held_back(MEMORY) == {"x"}, "a key that the hub does not have is not named"
    digest = replica.digest(MEMORY)
    assert digest is not None
    assert sum(count for count, _ in digest.buckets.values()) == 1
    assert list(replica.manifest(MEMORY, range(256))) == ["y"]
    assert (replica.quarantined(), queued(store)) == (0, [])


def test_whatever_local_a_hub_says_can_be_pulled(store: Store, replica: SqliteReplica) -> None:
    replica.apply(MEMORY, [remote("m1", content="one")], 1)
    replica.apply(MEMORY, [remote("m1", NOON_MS + 1, content="two", local=1)], 2)
    assert held(store, "m1").values == values(MEMORY, content="two", local=1)


DAMAGE = [
    "life = 'q'", "life = NULL", "life = 0, hlc = -5", f"life = {INT64_MAX}",
    f"life = {INT64_MAX - 1}", "life = 1e30",
    "hlc = NULL", "hlc = 'x'", f"hlc = {INT64_MAX}", f"hlc = {INT64_MAX - 1}",
    f"hlc = {HLC_MAX + 1}", "hlc = -1", "origin = 'abc'", "origin = x'00'", "origin = NULL",
    "digest = 'abc'", "digest = x'00'", "lineage = 'garbage'", "lineage = NULL",
    "lineage = CAST(x'ff' AS TEXT)", "lineage = printf('%080d%080d', 1, 2) || 'x'",
    "life = NULL, hlc = NULL, origin = NULL, digest = NULL, lineage = NULL",
    "content = 'by hand', life = 'q', hlc = 9223372036854775807",
]  # fmt: skip


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_version_damaged_by_hand_is_made_anew(
    damage: str, sent: bool, by_hand: Hand, store: Store, replica: SqliteReplica
) -> None:
    add(by_hand)
    if sent:
        accept(replica, send(replica))
    else:
        seal(store)
    before = held(store, "m1")
    by_hand.execute(f"UPDATE memory SET {damage} WHERE id = 'm1'")
    by_hand.execute("UPDATE memory SET title = 'edited by hand' WHERE id = 'm1'")
    (row,) = send(replica)
    assert whole(row)
    assert row.stamp > before.stamp
    assert row.stamp.life == CREATED
    assert (before.stamp.hex() in row.lineage) == sent
    assert row.stamp.digest == row_digest(MEMORY, "m1", row.values)
    accept(replica, (row,))
    edit(store, "m1", content="edited after")
    with store.read() as db:
        last = db.execute("SELECT last FROM clock").get
    assert isinstance(last, int)
    assert pack(NOON_MS) <= last < HLC_MAX


@pytest.mark.parametrize("last", [INT64_MAX, HLC_MAX, 9.3e18])
def test_a_damaged_clock_falls_back_to_the_wall(last: Any, store: Store) -> None:
    with store.write() as db:
        db.execute("UPDATE clock SET last = ?", (last,))
    write(store, Memory(id="m1"))
    edit(store, "m1", content="x")
    assert pack(NOON_MS) <= held(store, "m1").stamp.hlc < pack(NOON_MS + 1)


def test_no_clock_goes_over_the_last_stamp(store: Store, clock: Clock) -> None:
    clock.ms = 10**14
    write(store, Memory(id="m1"))
    edit(store, "m1", content="x")
    assert held(store, "m1").stamp.hlc == HLC_MAX == tick(clock.ms, HLC_MAX, INT64_MAX)


FORGED = [
    Stamp(CREATED, INT64_MAX - 1, OTHER, b"\1" * 8),
    Stamp(CREATED, HLC_MAX + 1, OTHER, b"\1" * 8),
    Stamp(0, -5, OTHER, b"\1" * 8),
    Stamp(CREATED + GENERATION, INT64_MAX - 1, OTHER, b"\1" * 8),
]


@pytest.mark.parametrize("held_before", [False, True])
@pytest.mark.parametrize("stamp", FORGED)
def test_a_pulled_version_that_none_could_follow_is_mended(
    stamp: Stamp, held_before: bool, store: Store, replica: SqliteReplica
) -> None:
    alive = stamp.life != CREATED + GENERATION
    content = values(MEMORY, content="forged") if alive else values(MEMORY)
    if held_before:
        write(store, Memory(id="m1", content="mine"))
        accept(replica, send(replica))
    before = held(store, "m1").stamp if held_before else None
    replica.apply(MEMORY, [Row("m1", stamp, "", content)], 1)
    now = held(store, "m1")
    assert whole(now)
    assert now.stamp > max(stamp, before or stamp) or now.stamp == before
    assert now.stamp.dead != (alive or now.stamp == before)
    assert queued(store) == ["m1"], "the hub gets a version that can be followed"
    with store.write() as db:
        rows.delete(db, MEMORY, "m1")
        rows.insert(db, Memory(id="m1", content="edited"))
    assert whole(held(store, "m1"))
    assert held(store, "m1").stamp > now.stamp


def test_the_gate_holds_a_damaged_version_back(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="x"), Memory(id="m2", content="y"))
    with store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("UPDATE memory SET hlc = ? WHERE id = 'm1'", (HLC_MAX + 1,))
    assert [row.key for row in send(replica)] == ["m2"]
    with store.read() as db:
        (entry,) = quarantine.listed(db, MEMORY)
    assert (entry.key, entry.column) == ("m1", "hlc")


def test_rows_of_one_local_sequence_do_not_share_a_fate(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="bad", content="a\0b"), Memory(id="good", content="x"))
    with store.write() as db:
        db.execute("UPDATE outbox SET local_seq = 1")
    batch = replica.outgoing(MEMORY, 0, replica.outbox_end())
    assert batch is not None
    assert ([row.key for row in batch.rows], batch.quarantined) == (["good"], 1)
    assert queued(store) == ["good"]
    assert replica.held_back(MEMORY) == {"bad"}


def test_what_hangs_on_a_memory_that_turns_out_local_stays(
    by_hand: Hand, store: Store, replica: SqliteReplica
) -> None:
    write(
        store,
        Relationship(id="to", from_id="other", to_id="later", type="t"),
        Relationship(id="from", from_id="later", to_id="other", type="t"),
        Relationship(id="free", from_id="other", to_id="other", type="t"),
        Relationship(id="turned", from_id="other", to_id="other", type="t"),
        Embedding(id="vector", memory_id="later", dims=1, dtype="f32", vector=b"\0" * 4),
    )
    with store.write() as db:
        rows.update(db, RELATIONSHIP, "to", metadata="of a secret")
    by_hand.execute("INSERT INTO memory(id, content, local) VALUES('later', 'secret', 1)")
    with store.write() as db:
        rows.update(db, RELATIONSHIP, "turned", to_id="later")
    assert queued(store, RELATIONSHIP) == ["free"]
    assert (queued(store), queued(store, EMBEDDING)) == ([], [])
    with store.read() as db:
        left = db.execute("SELECT count(*) FROM outbox WHERE kind = 'history'").get
    assert left == 0


def test_a_row_in_the_lowest_version_is_no_old_row(store: Store) -> None:
    with store.write() as db:
        rows.insert_lowest(db, Space(name="board"))
    with store.read() as db:
        assert status.waiting(db).oldest_unsent_ms is None
    write(store, Memory(id="m1"), Space(name="later"))
    with store.read() as db:
        assert status.waiting(db).oldest_unsent_ms == NOON_MS
        assert status.waiting(db).pending == {"memory": 1, SPACE.name: 2}


def test_a_write_finds_what_was_written_by_hand_sealed(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    by_hand.execute("DELETE FROM memory WHERE id = 'm1'")
    assert version(by_hand)["digest"] is None
    with store.write() as db:
        assert db.execute("SELECT event FROM history").fetchall() == [("delete",)]
        assert db.execute("SELECT count(*) FROM memory WHERE digest IS NULL").get == 0
    by_hand.execute("INSERT OR REPLACE INTO memory(id, content) VALUES('m1', 'back')")
    store.seal()
    assert version(by_hand)["digest"] is not None
