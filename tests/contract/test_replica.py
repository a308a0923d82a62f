"""The contract of a replica, on the one in memory and on SQLite."""

from __future__ import annotations

from fix_sides import Side
from fix_sync import NOON_MS, digest_of, memory_row

from satchel_sync import clock as hlc_clock
from satchel_sync.changes import Left, PushAnswer, Refusal, Row
from satchel_sync.digest import sums
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp, extend
from satchel_sync.tables import MEMORY

OTHER = b"\x02" * 16
NOON = hlc_clock.pack(NOON_MS)


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


def test_an_older_version_that_comes_late_is_no_base(side: Side) -> None:
    side.put("k", "first")
    (first,) = side.send()
    side.put("k", "second")
    (second,) = side.send()
    side.replica.apply(MEMORY, [first], None)
    side.put("k", "third")
    assert second.stamp.hex() in side.held("k").lineage


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
    side.put("k", "x")
    side.send(accepted=(), refused=(Refusal("k", "invalid", "why"),))
    assert (list(side.replica.held_back(MEMORY)), side.waiting()) == (["k"], [])
    assert (side.settled.quarantined, side.replica.quarantined()) == (1, 1)
    assert side.replica.left() == Left({"memory": 1}, None)
    side.put("k", "better")
    side.clock.ms += 1_500
    assert side.replica.left().oldest_unsent_s == 1.5
    assert side.waiting() == ["k"]
    assert list(side.replica.held_back(MEMORY)) == []


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
