"""A live sync on machines in memory: what a turn costs, when an attempt ends, what disturbs it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from fix_sync import World
from fix_turns import PERIOD_S, Line, Machine, in_touch

from satchel_sync.changes import PushAnswer
from satchel_sync.errors import HubRefused, HubUnreachable, KindRefused, NeedsReconcile
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.rows import Rows
from satchel_sync.live import OPEN_S_MAX, QUIET_S, REST_S_MAX, Live
from satchel_sync.session import sync


def test_a_quiet_turn_is_one_call_and_a_turn_that_moves_opens_nothing() -> None:
    one, other = in_touch(World.of(2))
    one.turn()
    other.turn()
    other.line.calls.clear()
    other.turn()
    assert other.line.calls == {"bound": 1}
    one.put("a", "first")
    one.line.calls.clear()
    one.turn(0)
    assert one.line.calls == {"bound": 2, "push": 1, "pull": 1}, "no hello, no digest, no report"
    other.turn()
    assert other.text("a") == "first"
    assert other.line.calls == {"bound": 2, "pull": 1}


def test_an_attempt_ends_once_it_is_quiet_and_then_the_machine_rests() -> None:
    world = World.of(1)
    (one,) = in_touch(world)
    one.put("a", "x")
    for _ in range(int(QUIET_S / PERIOD_S)):
        one.turn()
        assert one.reports == []
    one.turn()
    (report,) = one.reports
    assert (report["exit"], report["digest"]) == (0, "equal")
    assert report["kinds"]["memory"]["accepted"] == 1
    assert world.hub.state.reports == [report]
    one.line.calls.clear()
    for _ in range(5):
        one.turn()
    assert one.line.calls == {"bound": 5}, "an attempt that is closed may still ask"
    one.put("a", "y")
    one.turn()
    assert one.line.calls["hello"] == 1
    assert [len(one.reports), one.line.hub.state.bound()["memory"]] == [1, 2]


def test_a_machine_at_rest_has_a_whole_sync_now_and_then() -> None:
    (one,) = in_touch(World.of(1))
    one.turn()
    one.turn(QUIET_S)
    one.turn(REST_S_MAX - 1)
    assert one.line.calls["hello"] == 1
    one.turn(1)
    one.turn(QUIET_S)
    assert [one.line.calls["hello"], len(one.reports)] == [2, 2]


def test_an_attempt_that_is_never_quiet_ends_all_the_same() -> None:
    (one,) = in_touch(World.of(1))
    turns = int(2 * OPEN_S_MAX / PERIOD_S) + 2
    for number in range(turns):
        one.put("a", str(number))
        one.turn()
    assert [report["exit"] for report in one.reports] == [0, 0]
    sent = sum(report["kinds"]["memory"]["accepted"] for report in one.reports)
    assert sent == turns


def test_what_no_cursor_finds_is_found_at_the_end_of_an_attempt() -> None:
    world = World.of(1)
    (one,) = in_touch(world)
    one.put("a", "x")
    one.put("b", "y")  # so that the bound tells of nothing
    one.turn()
    state, left = world.hub.state, Rows("memory")
    left["b"] = state.rows["memory"]["b"]
    state.rows["memory"] = left
    del state.seqs["memory"]["a"]
    one.turn(QUIET_S)
    (report,) = one.reports
    assert (report["digest"], report["repaired"]) == ("repaired", {"memory": ["a"]})


def test_another_sync_of_the_file_meanwhile_is_respected() -> None:
    world = World.of(1)
    (one,) = in_touch(world)
    one.put("a", "x")
    one.turn()
    assert sync(one.replica, world.hub.connect(), one.replica.clock)["exit"] == 0
    one.put("a", "y")
    one.turn()
    assert one.line.calls["hello"] == 2
    assert len(world.hub.state.reports) == 2, "the attempt that was passed over left its report"
    one.turn(QUIET_S)
    assert [one.reports[0]["digest"], one.reports[0]["identity"]] == ["equal", []]


@pytest.mark.parametrize("resting", [False, True], ids=["in an attempt", "at rest"])
@pytest.mark.parametrize("hello_known", [False, True], ids=["hello lost", "hello known"])
def test_a_hub_that_was_set_back_is_filled_again(*, resting: bool, hello_known: bool) -> None:
    world = World.of(2)
    one, other = in_touch(world)
    backup = world.hub.snapshot()
    one.turn()
    backup = world.hub.snapshot() if hello_known else backup
    one.put("a", "x")
    one.turn()
    other.turn()
    if resting:
        one.turn(QUIET_S)
    world.hub.restore(backup)
    for machine in (one, other, one, other):
        with contextlib.suppress(HubUnreachable):  # told once, where the attempt is gone
            machine.turn()
        machine.turn()
    assert (
        world.hub.state.rows["memory"]["a"].values == one.replica.kinds["memory"].rows["a"].values
    )
    identity = [event for report in one.replica.file.reports for event in report["identity"]]
    one.turn(QUIET_S)
    identity += one.reports[-1]["identity"]
    assert any("set back" in event for event in identity)


def test_a_line_that_is_cut_ends_the_attempt_and_the_next_turn_begins_another() -> None:
    (one,) = in_touch(World.of(1))
    one.turn()
    one.put("a", "x")
    one.line.cut_at, one.line.answer_lost = 2, True
    with pytest.raises(HubUnreachable):
        one.turn()
    (report,) = one.replica.file.reports
    assert (report["exit"], report["error"]["code"]) == (10, "hub_unreachable")
    one.turn()
    one.turn(QUIET_S)
    (report,) = one.reports
    assert (report["exit"], report["conflicts"], report["identity"]) == (0, 0, [])
    assert one.line.hub.state.rows["memory"].keys() == {"a"}


def test_who_is_revoked_meanwhile_is_refused_at_the_next_turn() -> None:
    world = World.of(1)
    (one,) = in_touch(world)
    one.turn()
    world.hub.state.revoke(one.replica.replica_id)
    for _ in range(2):
        with pytest.raises(HubRefused):
            one.turn()


class OldHub(MemoryHub):
    """A hub that lacks a kind."""

    def push(self, table: Any, rows: Any) -> Any:
        self._require([table.name])
        return super().push(table, rows)

    def digests(self, without: Any) -> Any:
        self._require(without)
        return super().digests(without)

    def _require(self, kinds: Any) -> None:
        if "memory" in kinds:
            raise KindRefused("the warehouse does not know the kind 'memory'")


def test_a_kind_that_the_hub_lacks_is_no_reason_to_ask_again_and_again() -> None:
    world = World.of(1)
    (replica,) = world.replicas
    line = Line(OldHub(world.hub.clock, world.hub.state))
    one = Machine(replica, line, Live(replica, line, replica.clock))  # type: ignore[arg-type]
    one.put("a", "x")
    one.turn()
    line.calls.clear()
    one.turn()
    assert line.calls == {"bound": 1}
    one.turn(QUIET_S)
    assert (one.reports[0]["exit"], list(one.reports[0]["failed"])) == (13, ["memory"])


class Deaf(MemoryHub):
    """A hub that answers a push and says nothing of its rows."""

    def push(self, table: Any, rows: Any) -> Any:
        return PushAnswer((), now_ms=self.clock.now_ms())


def test_what_was_written_in_the_attempt_and_did_not_go_is_no_success() -> None:
    world = World.of(1)
    (replica,) = world.replicas
    one = Machine(
        replica,
        Line(Deaf(world.hub.clock, world.hub.state)),
        Live(replica, Deaf(world.hub.clock, world.hub.state), replica.clock),
    )
    one.turn()
    one.put("a", "x")
    one.turn()
    report = one.live.end(one.now_s)
    assert report
    assert (report["exit"], report["unsent"]) == (1, {"memory": 1})


def test_a_reconcile_that_cannot_end_is_told_at_once_and_not_tried_at_every_turn() -> None:
    world = World.of(1)
    (replica,) = world.replicas
    sync(replica, world.hub, replica.clock)
    world.hub.restore(MemoryHub(world.hub.clock).state)
    world.hub.state.hub_id = replica.file.hub_id or b""
    line = Line(OldHub(world.hub.clock, world.hub.state))
    one = Machine(replica, line, Live(replica, line, replica.clock))  # type: ignore[arg-type]
    one.put("a", "x")
    one.turn()
    assert [(r["exit"], r["reconcile_due"]) for r in one.reports] == [(13, "moved")]
    line.calls.clear()
    one.turn()
    assert line.calls == {"bound": 1}


def test_the_end_closes_what_is_open() -> None:
    (one,) = in_touch(World.of(1))
    assert one.live.end(0) is None
    one.put("a", "x")
    one.turn()
    report = one.live.end(one.now_s)
    assert report
    assert (report["exit"], report["digest"]) == (0, "equal")
    assert one.live.end(one.now_s) is None


def test_a_file_of_another_hub_is_not_joined_silently() -> None:
    world, elsewhere = World.of(1), World.of(1)
    (one,) = in_touch(world)
    one.turn()
    elsewhere.hub.state.hub_id = b"\xdd" * 16
    one.live = Live(one.replica, elsewhere.hub, one.replica.clock)
    for _ in range(2):
        with pytest.raises(NeedsReconcile):
            one.turn()
