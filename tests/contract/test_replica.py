"""The contract of a replica, on the one in memory and on SQLite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_sync import NOON_MS, FakeClock, digest_of, memory_row, memory_values

from satchel.store import rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync import clock as hlc_clock
from satchel_sync.changes import PushAnswer, Refusal, Row, Welcome
from satchel_sync.digest import sums
from satchel_sync.errors import NeedsReconcile
from satchel_sync.memory_replica import MemoryReplica
from satchel_sync.ports import Replica
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp, extend
from satchel_sync.tables import COLUMN_TAGS, MEMORY, TABLES, Memory
from satchel_sync.version import PROTOCOL, SCHEMA

OTHER = b"\x02" * 16
NOON = hlc_clock.pack(NOON_MS)


@dataclass
class Side:
    """A replica under test, how its user writes and deletes, and its clock."""

    replica: Replica
    put: Callable[[str, str], None]
    delete: Callable[[str], None]
    clock: FakeClock

    def held(self, key: str) -> Row:
        """The row of a key, as it would be sent."""
        self.replica.requeue(MEMORY, [key])
        batch = self.replica.outgoing(MEMORY, 0, self.replica.outbox_end())
        assert batch is not None
        return next(row for row in batch.rows if row.key == key)

    def send(self, **answer: object) -> tuple[Row, ...]:
        """Take the outbox and settle it; accepted unless the answer says otherwise."""
        batch = self.replica.outgoing(MEMORY, 0, self.replica.outbox_end())
        assert batch is not None
        given = {"accepted": tuple(row.key for row in batch.rows), "now_ms": NOON_MS} | answer
        self.settled = self.replica.settle(MEMORY, batch.rows, PushAnswer(**given), 0)  # type: ignore[arg-type]
        return batch.rows

    def waiting(self) -> list[str]:
        """Keys in the outbox."""
        batch = self.replica.outgoing(MEMORY, 0, self.replica.outbox_end())
        return [row.key for row in batch.rows] if batch else []


@pytest.fixture(params=["memory", "sqlite"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    """A fresh replica."""
    clock = FakeClock()
    if request.param == "memory":
        held = MemoryReplica(b"\x01" * 16, clock)
        yield Side(
            held,
            lambda key, text: held.put(MEMORY, key, memory_values(text)) and None,
            lambda key: held.delete(MEMORY, key) and None,
            clock,
        )
        return
    with Store.open(tmp_path / "satchel.db", durability="process", clock=clock) as store:

        def put(key: str, text: str) -> None:
            with store.write() as db:
                changed = rows.update(db, MEMORY, key, content=text)
                if not changed and rows.get(db, MEMORY, key) is None:
                    rows.insert(db, Memory(id=key, content=text))

        def delete(key: str) -> None:
            with store.write() as db:
                rows.delete(db, MEMORY, key)

        yield Side(SqliteReplica(store), put, delete, clock)


def theirs(key: str, text: str | None, hlc: int, lineage: str = "", life: int = CREATED) -> Row:
    """A version that another machine wrote."""
    bare = memory_row(key, text, Stamp(life, hlc, OTHER, b"\0" * 8), lineage)
    return Row(key, bare.stamp._replace(digest=digest_of(MEMORY, bare)), lineage, bare.values)


def test_a_write_waits_until_it_is_acknowledged(side: Side) -> None:
    side.put("k", "x")
    (row,) = side.send()
    assert (row.stamp.life, row.lineage, row.stamp.digest) == (CREATED, "", digest_of(MEMORY, row))
    assert side.waiting() == []


def test_an_edit_in_flight_is_sent_later_and_builds_on_what_was_sent(side: Side) -> None:
    side.put("k", "first")
    batch = side.replica.outgoing(MEMORY, 0, side.replica.outbox_end())
    assert batch
    side.put("k", "second")
    side.replica.settle(MEMORY, batch.rows, PushAnswer(("k",), now_ms=NOON_MS), 0)
    (row,) = side.send()
    assert row.lineage == batch.rows[0].stamp.hex()


def test_edits_between_two_syncs_add_nothing_to_the_lineage(side: Side) -> None:
    for text in ("first", "second", "third"):
        side.put("k", text)
    assert side.send()[0].lineage == ""


def test_writing_the_same_again_makes_no_version(side: Side) -> None:
    side.put("k", "x")
    side.send()
    side.put("k", "x")
    assert side.waiting() == []


def test_a_delete_and_a_restore_each_raise_the_life(side: Side) -> None:
    side.put("k", "x")
    side.delete("k")
    dead = side.held("k")
    assert (dead.stamp.life, set(dead.values)) == (2 * CREATED, {None})
    side.put("k", "again")
    assert side.held("k").stamp.life == 3 * CREATED


def test_a_batch_ends_at_the_bound(side: Side) -> None:
    side.put("a", "x")
    upto = side.replica.outbox_end()
    side.put("b", "x")
    batch = side.replica.outgoing(MEMORY, 0, upto)
    assert batch
    assert [row.key for row in batch.rows] == ["a"]
    assert side.replica.outgoing(MEMORY, batch.last_seq, upto) is None


def test_a_pulled_row_is_stored_whole_and_moves_the_cursor(side: Side) -> None:
    row = theirs("k", "theirs", NOON)
    assert side.replica.apply(MEMORY, [row], 17).applied == 1
    assert side.replica.cursor(MEMORY) == 17
    assert side.held("k") == row
    again = side.replica.apply(MEMORY, [row], 17)
    assert (again.applied, again.conflicts) == (0, 0)


def test_an_edit_after_a_pull_beats_and_builds_on_what_was_seen(side: Side) -> None:
    row = theirs("k", "theirs", NOON + hlc_clock.pack(999_999))
    side.replica.apply(MEMORY, [row], 1)
    side.put("k", "mine")
    (mine,) = side.send()
    assert mine.stamp > row.stamp
    assert mine.lineage == row.stamp.hex()


def test_an_unsent_edit_that_loses_is_journaled_once(side: Side) -> None:
    side.put("k", "mine")
    mine = side.held("k")
    winner = theirs("k", "theirs", mine.stamp.hlc + 5)
    assert side.replica.apply(MEMORY, [winner], 1).conflicts == 1
    assert side.replica.apply(MEMORY, [winner], 1).conflicts == 0
    (loser,) = side.replica.losers()
    assert (loser.row, loser.winner) == (mine, winner.stamp)
    side.replica.losers_sent([loser])
    assert list(side.replica.losers()) == []
    assert side.waiting() == []


def test_a_sent_version_that_was_not_seen_is_journaled_too(side: Side) -> None:
    side.put("k", "mine")
    (mine,) = side.send()
    side.replica.apply(MEMORY, [theirs("k", "theirs", mine.stamp.hlc + 5)], 1)
    assert [loser.row for loser in side.replica.losers()] == [mine]


def test_a_version_that_was_seen_is_not_journaled(side: Side) -> None:
    side.put("k", "mine")
    (mine,) = side.send()
    winner = theirs("k", "theirs", mine.stamp.hlc + 5, extend("", mine.stamp))
    assert side.replica.apply(MEMORY, [winner], 1).conflicts == 0


def test_a_lower_version_from_the_hub_makes_an_outbox_entry(side: Side) -> None:
    side.put("k", "mine")
    side.send()
    side.replica.apply(MEMORY, [theirs("k", "theirs", 1)], 1)
    assert side.waiting() == ["k"]


def test_a_push_that_loses_is_cleared_and_journaled(side: Side) -> None:
    side.put("k", "mine")
    winner = theirs("k", "theirs", NOON * 2)
    (mine,) = side.send(accepted=(), superseded={"k": winner.version})
    assert side.settled.conflicts == 1
    assert [loser.row for loser in side.replica.losers()] == [mine]
    assert side.waiting() == []


def test_a_row_beaten_by_its_own_base_is_lifted_above_it(side: Side) -> None:
    side.clock.ms = NOON_MS + 10**9
    side.put("k", "mine")
    side.clock.ms = NOON_MS
    (ahead,) = side.send(accepted=(), refused=(Refusal("k", "future"),))
    side.send(accepted=(), superseded={"k": ahead.version})
    assert (side.settled.restamped, side.settled.conflicts) == (1, 0)
    (lifted,) = side.send()
    assert (lifted.values, lifted.stamp > ahead.stamp) == (ahead.values, True)
    assert ahead.stamp.hex() in lifted.lineage


def test_a_pulled_version_that_builds_on_mine_but_compares_lower_is_lifted(side: Side) -> None:
    side.put("k", "mine")
    (mine,) = side.send()
    low = theirs("k", "builds on mine", mine.stamp.hlc - 100, extend("", mine.stamp))
    side.replica.apply(MEMORY, [low], 1)
    (held,) = side.send()
    assert (held.values, held.stamp > mine.stamp) == (low.values, True)
    assert mine.stamp.hex() in held.lineage
    assert low.stamp.hex() in held.lineage


def test_a_row_from_the_future_is_stamped_anew_and_sent_again(side: Side) -> None:
    side.clock.ms = NOON_MS + 10**9
    side.put("a", "first")
    side.put("b", "second")
    side.clock.ms = NOON_MS
    refused = tuple(Refusal(key, "future") for key in ("a", "b"))
    old = {row.key: row for row in side.send(accepted=(), refused=refused)}
    assert side.settled.restamped == 2
    new = {row.key: row for row in side.send()}
    assert new["a"].stamp < new["b"].stamp < old["a"].stamp
    assert new["b"].stamp.hlc <= NOON + 2
    assert all(old[key].stamp.hex() == new[key].lineage for key in "ab")
    side.put("c", "third")
    assert side.held("c").stamp.hlc < NOON + hlc_clock.pack(hlc_clock.AHEAD_MS_MAX)


def test_a_row_that_the_hub_cannot_take_is_held_back(side: Side) -> None:
    if isinstance(side.replica, MemoryReplica):
        pytest.skip("the replica in memory holds nothing that a hub cannot take")
    side.put("k", "x")
    side.send(accepted=(), refused=(Refusal("k", "invalid", "why"),))
    assert (list(side.replica.held_back(MEMORY)), side.waiting()) == (["k"], [])


def test_scrubbed_is_final(side: Side) -> None:
    side.put("k", "mine")
    side.replica.apply(MEMORY, [memory_row("k", None, SCRUBBED)], 1)
    assert side.held("k").stamp == SCRUBBED
    assert list(side.replica.losers()) == []
    side.replica.apply(MEMORY, [theirs("k", "later", NOON * 2)], 2)
    assert side.held("k").stamp == SCRUBBED


def test_the_digest_waits_for_the_outbox(side: Side) -> None:
    side.put("k", "x")
    assert side.replica.digest(MEMORY) is None
    (row,) = side.send()
    digest = side.replica.digest(MEMORY)
    assert digest
    assert dict(digest.buckets) == sums("memory", [("k", row.stamp)])
    assert dict(side.replica.manifest(MEMORY, range(256))) == {"k": row.stamp}


def test_an_attempt_is_named_again_until_it_is_closed(side: Side) -> None:
    if isinstance(side.replica, MemoryReplica):
        pytest.skip("the replica in memory keeps no attempts")
    first = side.replica.hello()
    assert side.replica.hello().attempt == first.attempt
    side.replica.record({"ok": True})
    assert side.replica.hello().attempt != first.attempt


def test_another_hub_is_not_met_silently(side: Side) -> None:
    seqs = {table.name: 0 for table in TABLES}
    side.replica.welcome(Welcome(b"\1" * 16, PROTOCOL, SCHEMA, COLUMN_TAGS, seqs, NOON_MS))
    with pytest.raises(NeedsReconcile):
        side.replica.welcome(Welcome(b"\2" * 16, PROTOCOL, SCHEMA, COLUMN_TAGS, seqs, NOON_MS))
