"""What a replica keeps of its past, and how it takes a new id, reconciles and adopts: both kinds.

The hub is the one in memory, which can be set back.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from fix_lossy import LossyHub
from fix_sides import Side
from fix_sync import FakeClock, contents, digest_of, memory_row, memory_values

from satchel_sync.changes import Hello, Reconciling, Row, Standing, Welcome
from satchel_sync.errors import HubUnreachable, NeedsReconcile
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.session import sync
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp
from satchel_sync.tables import COLUMN_TAGS, KINDS, MEMORY
from satchel_sync.version import PROTOCOL, SCHEMA

OTHER = b"\x02" * 16


@pytest.fixture
def warehouse() -> MemoryHub:
    return MemoryHub(FakeClock())


def synced(side: Side, hub: MemoryHub) -> list[str]:
    """A sync after which all is well; its identity events."""
    report = sync(side.replica, hub.connect(), side.clock)
    assert (report["exit"], report["digest"], report["repaired"]) == (0, "equal", {}), report
    return list(report["identity"])


def welcome(epoch: str = "e", standing: Standing = Standing.KNOWN, hub: bytes = OTHER) -> Welcome:
    seqs = dict.fromkeys(KINDS, 0)
    return Welcome(hub, PROTOCOL, SCHEMA, COLUMN_TAGS, seqs, 1, epoch=epoch, standing=standing)


def theirs(key: str) -> Row:
    bare = memory_row(key, "theirs", Stamp(CREATED, 1, OTHER, b"\0" * 8))
    return Row(key, bare.stamp._replace(digest=digest_of(MEMORY, bare)), "", bare.values)


def test_an_attempt_is_named_again_until_it_is_answered(side: Side) -> None:
    first = side.replica.hello()
    assert (first.last_attempt, first.token, first.epoch, first.predecessors) == ("", "", "", ())
    assert side.replica.hello().attempt == first.attempt
    assert side.again(False).hello().attempt == first.attempt, "it is in the file"
    side.replica.welcome(welcome())
    second = side.replica.hello()
    assert (second.last_attempt, second.epoch) == (first.attempt, "e")
    assert second.attempt != first.attempt
    assert second.hub_id == OTHER


def test_the_last_token_is_named(side: Side) -> None:
    side.put("k", "x")
    side.send(token="t" * 32)
    assert side.replica.hello().token == "t" * 32


def test_a_successor_names_its_predecessors_and_starts_a_new_attempt(side: Side) -> None:
    first = side.replica.hello()
    side.replica.succeed("a test")
    second = side.replica.hello()
    side.replica.succeed("another test")
    third = side.replica.hello()
    assert third.predecessors == (second.replica_id, first.replica_id)
    assert len({first.replica_id, second.replica_id, third.replica_id}) == 3
    assert len({first.attempt, second.attempt, third.attempt}) == 3
    side.put("k", "x")
    assert side.held("k").stamp.origin == third.replica_id


@pytest.mark.parametrize("standing", [Standing.REWOUND, Standing.MOVED])
def test_why_a_reconcile_is_due_stays_until_it_is_done(side: Side, standing: Standing) -> None:
    side.replica.hello()
    side.replica.welcome(welcome("e1"))
    side.replica.hello()
    side.replica.welcome(welcome("e2", standing))
    why = side.replica.due()
    assert why != ""
    for other in (Standing.KNOWN, Standing.MOVED, Standing.REWOUND):
        hello = side.again(False).hello()
        assert (hello.reconcile, hello.epoch) == (why, "e1")
        side.replica.welcome(welcome("e2", other))
        assert side.replica.due() == why
    side.replica.apply(MEMORY, [], 17)
    side.replica.reconciled(Reconciling("e3", {**dict.fromkeys(KINDS, 0), "memory": 5}))
    hello = side.replica.hello()
    assert (hello.reconcile, hello.epoch, hello.token) == ("", "e3", "")
    assert side.replica.cursor(MEMORY) == hello.cursors["memory"] == 5


def test_another_hub_is_not_met_silently(side: Side) -> None:
    side.replica.hello()
    side.replica.welcome(welcome())
    before = side.replica.hello()
    with pytest.raises(NeedsReconcile):
        side.replica.welcome(welcome("e2", hub=b"\x03" * 16))
    assert side.replica.hello() == before


def test_a_file_with_rows_of_others_and_no_hub_is_not_adopted_silently(side: Side) -> None:
    side.replica.apply(MEMORY, [theirs("k")], None)
    with pytest.raises(NeedsReconcile) as refused:
        side.replica.hello()
    assert "--adopt" in refused.value.hint


def test_what_was_forgotten_is_no_row_of_others(side: Side) -> None:
    side.replica.apply(MEMORY, [memory_row("k", None, SCRUBBED)], None)
    assert side.replica.hello().hub_id is None


def test_a_reconcile_hands_the_journal_over_again(side: Side) -> None:
    side.put("k", "mine")
    later = theirs("k").stamp._replace(hlc=1 << 60)
    side.replica.apply(MEMORY, [replace(theirs("k"), stamp=later)], 1)
    losers = list(side.replica.losers())
    side.replica.losers_sent(losers)
    assert (len(losers), list(side.replica.losers())) == (1, [])
    side.replica.reconciled(Reconciling("e", dict.fromkeys(KINDS, 0)))
    assert [loser.row for loser in side.replica.losers()] == [losers[0].row]


def test_adopting_takes_a_new_id_and_makes_a_reconcile_due_once(side: Side) -> None:
    before = side.replica.hello()
    side.replica.welcome(welcome())
    side.put("k", "x")
    side.send(token="t" * 32)
    side.replica.apply(MEMORY, [], 17)
    adopting = side.again(True)
    hello = adopting.hello()
    assert hello.predecessors == (before.replica_id,)
    assert (hello.hub_id, hello.epoch, hello.last_attempt, hello.token) == (None, "", "", "")
    assert not any(hello.cursors.values())
    assert hello.reconcile
    assert adopting.hello() == hello
    assert side.again(False).hello() == hello, "it was stored"


def test_adopted_rows_reach_the_other_hub_and_its_rows_come(
    side: Side, warehouse: MemoryHub
) -> None:
    elsewhere = MemoryHub(FakeClock())
    elsewhere.state.hub_id = b"\xdd" * 16
    side.put("mine", "x")
    synced(side, elsewhere)
    other = MemoryReplica(b"\x05" * 16, FakeClock())
    other.put(MEMORY, "theirs", memory_values("y"))
    sync(other, warehouse.connect(), other.clock)
    with pytest.raises(NeedsReconcile):
        sync(side.replica, warehouse.connect(), side.clock)
    side.replica = side.again(True)
    synced(side, warehouse)
    assert synced(side, warehouse) == []
    assert warehouse.state.rows["memory"].keys() == {"mine", "theirs"}
    assert side.held("theirs") == warehouse.state.rows["memory"]["theirs"]


def test_a_hub_that_was_set_back_is_filled_again(side: Side, warehouse: MemoryHub) -> None:
    side.put("before", "x")
    synced(side, warehouse)
    backup = warehouse.snapshot()
    side.put("after", "y")
    side.delete("before")
    synced(side, warehouse)
    warehouse.restore(backup)
    (event,) = synced(side, warehouse)
    assert "set back" in event
    assert warehouse.state.rows["memory"] == {k: side.held(k) for k in ("before", "after")}
    assert warehouse.state.rows["memory"]["before"].stamp.dead
    assert synced(side, warehouse) == []


def test_a_reconcile_that_is_cut_anywhere_is_done_again(side: Side, warehouse: MemoryHub) -> None:
    side.put("before", "x")
    synced(side, warehouse)
    backup = warehouse.snapshot()
    side.put("after", "y")
    synced(side, warehouse)
    for break_at in range(1, 60, 3):
        warehouse.restore(backup)
        for lost in (False, True):
            try:
                sync(side.replica, LossyHub(warehouse.connect(), break_at, lost), side.clock)
            except HubUnreachable:
                continue
            break
        synced(side, warehouse)
        assert synced(side, warehouse) == []
        assert contents(warehouse)["memory"].keys() == {"before", "after"}


def test_a_hello_tells_columns_and_cursors(side: Side) -> None:
    hello: Hello = side.replica.hello()
    assert {kind: dict(tags) for kind, tags in hello.columns.items()} == COLUMN_TAGS
    assert dict(hello.cursors).keys() <= set(KINDS)
    side.replica.apply(MEMORY, [], 9)
    assert side.replica.hello().cursors["memory"] == 9
