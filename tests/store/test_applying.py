"""Merging pulled rows: what wins, what is journaled, what follows."""

from __future__ import annotations

from machine import NOON_MS, OTHER, accept, edit, held, queued, remote, send, values, write

from satchel.store.connection import Store
from satchel.store.embedded_text import content_hash
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Row
from satchel_sync.clock import pack, wall_ms
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, GENERATION, LINEAGE_MAX, SCRUBBED, Stamp, lineage_of
from satchel_sync.tables import (
    EMBEDDING,
    MEMORY,
    Memory,
)


def test_a_page_is_stored_whole_with_its_cursor(store: Store, replica: SqliteReplica) -> None:
    page = [
        remote("m1", content="one", importance=0.5, extra='{"new":"t:61"}'),
        remote("m2", life=CREATED + GENERATION, lineage=f"{7:080x}"),
    ]
    done = replica.apply(MEMORY, page, 7)
    assert (done.applied, done.conflicts) == (2, 0)
    assert [held(store, "m1"), held(store, "m2")] == page
    assert replica.cursor(MEMORY) == 7
    assert queued(store) == []
    assert replica.apply(MEMORY, page, 7).applied == 0
    assert replica.apply(MEMORY, [], 9).applied == 0
    assert replica.cursor(MEMORY) == 9
    replica.apply(MEMORY, [], None)
    replica.apply(MEMORY, [], 3)
    assert replica.cursor(MEMORY) == 9
    edit(store, "m1", content="edited here")
    assert held(store, "m1").lineage == page[0].stamp.hex()


def test_applied_text_is_found_and_replaced_text_is_not(
    store: Store, replica: SqliteReplica
) -> None:
    replica.apply(MEMORY, [remote("m1", content="apples"), remote("m2", content="pears")], 1)
    replica.apply(MEMORY, [remote("m1", NOON_MS + 1, content="plums")], 2)
    replica.apply(MEMORY, [remote("m2", NOON_MS, CREATED + GENERATION)], 3)
    query = "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ?"
    with store.read() as db:
        assert [db.execute(query, (word,)).get for word in ("apples", "pears", "plums")] == [
            0,
            0,
            1,
        ]
    with store.write() as db:
        db.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES('integrity-check', 1)")


def test_an_unsent_edit_that_loses_is_journaled(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="mine"))
    mine = held(store, "m1")
    theirs = remote("m1", NOON_MS + 1, content="theirs")
    done = replica.apply(MEMORY, [theirs], 1)
    assert (done.applied, done.conflicts) == (1, 1)
    assert held(store, "m1") == theirs
    assert queued(store) == []
    (loser,) = replica.losers()
    assert (loser.row, loser.winner, loser.path) == (mine, theirs.stamp, "pull")


def test_a_sent_row_that_loses_was_seen_if_the_winner_says_so(
    store: Store, replica: SqliteReplica
) -> None:
    def apply_over(key: str, lineage: str) -> int:
        write(store, Memory(id=key, content="mine"))
        (mine,) = sent = send(replica)
        accept(replica, sent)
        later_ms = wall_ms(mine.stamp.hlc) + 1
        theirs = remote(key, later_ms, lineage=lineage or mine.stamp.hex(), content="theirs")
        return replica.apply(MEMORY, [theirs], 1).conflicts

    full = " ".join(f"{at:080x}" for at in range(LINEAGE_MAX))
    assert apply_over("seen", "") == 0
    assert apply_over("perhaps seen", full) == 0
    assert apply_over("not seen", f"{7:080x}") == 1
    assert [loser.row.key for loser in replica.losers()] == ["not seen"]
    replica.apply(MEMORY, [remote("pulled", content="a")], 2)
    assert replica.apply(MEMORY, [remote("pulled", NOON_MS + 9, content="b")], 3).conflicts == 0


def test_a_pulled_row_that_builds_on_mine_yet_compares_lower_is_lifted(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="mine"))
    (mine,) = sent = send(replica)
    accept(replica, sent)
    theirs = remote("m1", NOON_MS - 9, lineage=mine.stamp.hex(), content="theirs")
    replica.apply(MEMORY, [theirs], 1)
    now = held(store, "m1")
    assert now.values == theirs.values
    assert now.stamp > mine.stamp
    assert {mine.stamp.hex(), theirs.stamp.hex()} <= set(lineage_of(now.lineage))
    assert queued(store) == ["m1"]


def test_a_lower_version_makes_mine_travel(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="mine"))
    accept(replica, send(replica))
    mine = held(store, "m1")
    older = remote("m1", NOON_MS - 1, content="older")
    assert replica.apply(MEMORY, [older], 1).applied == 0
    assert held(store, "m1") == mine
    assert queued(store) == ["m1"]
    before = queued(store)
    replica.apply(MEMORY, [older], 2)
    assert queued(store) == before


def test_the_very_version_held_is_at_the_hub(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="mine"))
    (mine,) = send(replica)
    assert replica.apply(MEMORY, [mine], 1).applied == 0
    assert queued(store) == []


def test_a_version_in_my_lineage_never_comes_back(store: Store, replica: SqliteReplica) -> None:
    base = remote("m1", NOON_MS + 3_600_000, content="base")
    replica.apply(MEMORY, [base], 1)
    edit(store, "m1", content="edited")
    with store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("UPDATE memory SET hlc = ?", (pack(NOON_MS),))
    assert replica.apply(MEMORY, [base], 2).applied == 0
    assert held(store, "m1").values == values(MEMORY, content="edited")


def test_a_foreign_edit_is_sealed_before_a_pull_meets_it(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="m1", content="one"))
    accept(replica, send(replica))
    with store.write() as db:
        db.execute("UPDATE memory SET content = 'by hand', digest = NULL")
    done = replica.apply(MEMORY, [remote("m1", NOON_MS + 60_000, content="theirs")], 1)
    assert done.conflicts == 1
    (loser,) = replica.losers()
    assert loser.row.values == values(MEMORY, content="by hand")
    assert loser.row.stamp.digest == row_digest(MEMORY, "m1", loser.row.values)


def test_a_scrubbed_row_wins_and_leaves_no_journal(store: Store, replica: SqliteReplica) -> None:
    write(store, Memory(id="m1", content="secret"))
    replica.apply(MEMORY, [remote("m1", NOON_MS + 1, content="theirs")], 1)
    assert len(replica.losers()) == 1
    edit(store, "m1", content="secret again")
    gone = Row("m1", SCRUBBED, "", values(MEMORY))
    assert replica.apply(MEMORY, [gone], 2).conflicts == 0
    assert replica.losers() == []
    assert held(store, "m1") == gone
    assert replica.apply(MEMORY, [remote("m1", NOON_MS + 9, content="again")], 3).applied == 0


def test_remote_stamps_move_the_clock_unless_they_are_mad(
    store: Store, replica: SqliteReplica
) -> None:
    replica.apply(MEMORY, [remote("m1", NOON_MS + 60_000, content="x")], 1)
    replica.apply(MEMORY, [remote("m2", NOON_MS + 10**10, content="x")], 2)
    write(store, Memory(id="m3"))
    assert held(store, "m3").stamp.hlc == pack(NOON_MS + 60_000) + 1


def test_vectors_that_are_wanted_are_queued(store: Store, replica: SqliteReplica) -> None:
    def waiting() -> list[str]:
        with store.read() as db:
            return [str(key) for (key,) in db.execute("SELECT memory_id FROM embed_queue")]

    replica.apply(MEMORY, [remote("m1", content="x"), remote("m2")], 1)
    assert waiting() == ["m1"]
    for hashed, left in ((content_hash("of another text"), ["m1"]), (content_hash("x"), [])):
        content = values(
            EMBEDDING, memory_id="m1", content_hash=hashed, dims=1, dtype="f32", vector=bytes(4)
        )
        stamp = Stamp(CREATED, pack(NOON_MS), OTHER, row_digest(EMBEDDING, hashed, content))
        replica.apply(EMBEDDING, [Row(hashed, stamp, "", content)], 1)
        assert waiting() == left
    write(store, Memory(id="m3", content="y"))
    assert waiting() == ["m3"]


def test_a_newer_version_of_one_key_in_a_page_counts(store: Store, replica: SqliteReplica) -> None:
    older, newer = remote("m1", content="a"), remote("m1", NOON_MS + 1, content="b")
    assert replica.apply(MEMORY, [newer, older], 1).applied == 1
    assert held(store, "m1") == newer
