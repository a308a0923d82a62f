"""The replica's endpoint: sending, settling, applying, checking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from satchel.store import attempts, journal, outbox, quarantine, rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer, Refusal, Row, Version, Welcome
from satchel_sync.clock import AHEAD_MS_MAX, pack
from satchel_sync.digest import row_digest, sums
from satchel_sync.errors import NeedsReconcile
from satchel_sync.stamp import CREATED, GENERATION, LINEAGE_MAX, SCRUBBED, Stamp, lineage_of
from satchel_sync.tables import (
    EMBEDDING,
    HISTORY,
    MEMORY,
    RELATIONSHIP,
    TABLES,
    TASK,
    Embedding,
    Memory,
    Relationship,
    Table,
    Task,
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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(path, durability="process", clock=clock) as opened:
        yield opened


@pytest.fixture
def replica(store: Store) -> SqliteReplica:
    return SqliteReplica(store)


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


def test_a_page_is_stored_whole_with_its_cursor(store: Store, replica: SqliteReplica) -> None:
    page = [
        remote("m1", content="one", importance=0.5, extra='{"new":"t:61"}'),
        remote("m2", life=CREATED + GENERATION, lineage="ab" * 40),
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
        theirs = remote(key, NOON_MS + 1, lineage=lineage or mine.stamp.hex(), content="theirs")
        return replica.apply(MEMORY, [theirs], 1).conflicts

    full = " ".join(f"{at:080x}" for at in range(LINEAGE_MAX))
    assert apply_over("seen", "") == 0
    assert apply_over("perhaps seen", full) == 0
    assert apply_over("not seen", f"{7:080x}") == 1
    assert [loser.row.key for loser in replica.losers()] == ["not seen"]
    replica.apply(MEMORY, [remote("pulled", content="a")], 2)
    assert replica.apply(MEMORY, [remote("pulled", NOON_MS + 1, content="b")], 3).conflicts == 0


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

    replica.apply(MEMORY, [remote("m1", content="x", content_hash="h1"), remote("m2")], 1)
    assert waiting() == ["m1"]
    content = values(
        EMBEDDING, memory_id="m1", content_hash="h1", dims=1, dtype="f32", vector=b"\0\0\0\0"
    )
    stamp = Stamp(CREATED, pack(NOON_MS), OTHER, row_digest(EMBEDDING, "e1", content))
    replica.apply(EMBEDDING, [Row("e1", stamp, "", content)], 1)
    assert waiting() == []
    write(store, Memory(id="m3", content="y"))
    assert waiting() == ["m3"]


def test_the_digest_counts_what_should_be_at_the_hub(store: Store, replica: SqliteReplica) -> None:
    write(
        store,
        Memory(id="open", content="open"),
        Memory(id="secret", content="secret", local=1),
        Relationship(id="r1", from_id="open", to_id="secret"),
        Relationship(id="r2", from_id="open", to_id="open"),
    )
    assert replica.digest(MEMORY) is None
    accept(replica, send(replica))
    accept(replica, send(replica, RELATIONSHIP), RELATIONSHIP)
    found = replica.digest(MEMORY)
    assert found is not None
    assert found.buckets == sums("memory", [("open", held(store, "open").stamp)])
    edges = replica.digest(RELATIONSHIP)
    assert edges is not None
    assert edges.buckets == sums("relationship", [("r2", held(store, "r2", RELATIONSHIP).stamp)])
    assert replica.manifest(MEMORY, range(256)) == {"open": held(store, "open").stamp}
    assert replica.manifest(MEMORY, set(range(256)) - found.buckets.keys()) == {}
    replica.apply(MEMORY, [remote("new", content="new")], 12)
    again = replica.digest(MEMORY)
    assert again is not None
    assert again.seq == 12
    assert sum(rows for rows, _ in again.buckets.values()) == 2


def test_no_change_hides_behind_a_kept_digest(store: Store, replica: SqliteReplica) -> None:
    def digest() -> Mapping[int, tuple[int, int]]:
        accept(replica, send(replica))
        found = replica.digest(MEMORY)
        assert found is not None
        with store.read() as db:
            stamps = [
                (str(key), Stamp(*stamp))
                for key, *stamp in db.execute(
                    "SELECT id, life, hlc, origin, digest FROM memory"
                    " WHERE id NOT IN (SELECT key FROM quarantine)"
                )
            ]
        assert found.buckets == sums("memory", stamps)
        return found.buckets

    write(store, *(Memory(id=f"m{at}", content="x") for at in range(5)))
    seen = [digest()]
    edit(store, "m1", content="y")
    seen.append(digest())
    replica.apply(MEMORY, [remote("m2", NOON_MS + 9, content="z")], 1)
    seen.append(digest())
    edit(store, "m3", content="w")
    sent = send(replica)
    answer_to(replica, sent, refused=(Refusal("m3", "invalid"),))
    seen.append(digest())
    edit(store, "m4", content="v")
    answer_to(replica, send(replica), refused=(Refusal("m4", "future"),), now_ms=NOON_MS - 5)
    seen.append(digest())
    edit(store, "m3", content="good")
    seen.append(digest())
    assert len({str(sorted(buckets.items())) for buckets in seen}) == len(seen)


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


def welcome(hub_id: bytes = HUB, **seqs: int) -> Welcome:
    return Welcome(hub_id, PROTOCOL, SCHEMA, {}, seqs, NOON_MS)


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
    assert adopting.hello().hub_id == OTHER
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


def test_a_newer_version_of_one_key_in_a_page_counts(store: Store, replica: SqliteReplica) -> None:
    older, newer = remote("m1", content="a"), remote("m1", NOON_MS + 1, content="b")
    assert replica.apply(MEMORY, [newer, older], 1).applied == 1
    assert held(store, "m1") == newer
    write(store, Embedding(id="e1", memory_id="m1"))
    assert replace(newer, lineage="") == newer
