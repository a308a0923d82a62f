"""When the next sync is due, on a clock that a test turns: jitter, failures, sleeps and jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.periodic import (
    AWAY_S_MAX,
    GLANCE_S,
    JITTER,
    LOOK_S,
    SETTLE_S,
    Moment,
    RealClocks,
    away_s,
    due_after,
    follow,
    repeat,
)

HOUR_S = 3600.0


class Over(Exception):
    """The test has seen enough."""


@dataclass
class TurnedClocks:
    """Both clocks in the hands of a test. `events` happen when the steady clock has passed them."""

    enough_s: float
    steady_s: float = 0.0
    wall_s: float = 1_000_000.0
    chances: list[float] = field(default_factory=list)
    events: list[tuple[float, Callable[[TurnedClocks], None]]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def now(self) -> Moment:
        return Moment(steady_s=self.steady_s, wall_s=self.wall_s)

    def chance(self) -> float:
        return self.chances.pop(0) if self.chances else 0.5

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.pass_(seconds)
        while self.events and self.events[0][0] <= self.steady_s:
            self.events.pop(0)[1](self)
        if self.steady_s >= self.enough_s:
            raise Over

    def pass_(self, seconds: float) -> None:
        self.steady_s += seconds
        self.wall_s += seconds

    def jump(self, seconds: float) -> None:
        """The wall clock alone: somebody set it, or the machine slept."""
        self.wall_s += seconds


def syncs(
    clocks: TurnedClocks, period_s: float = HOUR_S, takes_s: Callable[[], float] = lambda: 0.0
) -> list[float]:
    """The steady times at which a sync began, until the clocks have seen enough."""
    begun: list[float] = []

    def once() -> None:
        begun.append(clocks.steady_s)
        clocks.pass_(takes_s())

    with pytest.raises(Over):
        repeat(once, period_s, clocks)
    return begun


def test_the_first_comes_at_once_and_then_one_a_period() -> None:
    assert syncs(TurnedClocks(3.5 * HOUR_S)) == [0, HOUR_S, 2 * HOUR_S, 3 * HOUR_S]


def test_a_pause_is_the_period_give_or_take_a_tenth() -> None:
    begun = syncs(TurnedClocks(2.5 * HOUR_S, chances=[0.0, 1.0]))
    assert begun == pytest.approx([0, HOUR_S * 0.9, HOUR_S * 2])
    assert JITTER == 0.1


@given(st.floats(10, 31 * 86_400), st.floats(0, 1, exclude_max=True))
def test_every_pause_stays_within_the_jitter(period_s: float, chance: float) -> None:
    left_s = due_after(Moment(steady_s=5, wall_s=9), period_s, chance).left_s(
        Moment(steady_s=5, wall_s=9)
    )
    assert period_s * 0.9 - 1e-6 <= left_s <= period_s * 1.1 + 1e-6


def test_the_systems_own_chance_is_spread_over_its_range() -> None:
    drawn = [RealClocks().chance() for _ in range(2000)]
    assert all(0 <= one < 1 for one in drawn)
    assert min(drawn) < 0.05 < 0.95 < max(drawn)


def test_a_sync_that_takes_longer_than_the_period_is_not_followed_by_another_at_once() -> None:
    assert syncs(TurnedClocks(250), 10, lambda: 100) == [0, 110, 220]


def test_a_machine_that_slept_syncs_soon_and_once() -> None:
    clocks = TurnedClocks(3 * HOUR_S, events=[(600, lambda one: one.jump(8 * HOUR_S))])
    first, second, third, *_ = syncs(clocks)
    assert first == 0
    assert 600 < second <= 600 + LOOK_S + SETTLE_S
    assert third - second == HOUR_S, "eight missed hours are one sync"


@pytest.mark.parametrize("jump_s", [-10 * 365 * 86_400, -HOUR_S, -1, 1, 60], ids=str)
def test_a_clock_that_is_set_a_little_or_back_changes_nothing(jump_s: float) -> None:
    clocks = TurnedClocks(2.5 * HOUR_S, events=[(600, lambda one: one.jump(jump_s))])
    assert syncs(clocks) == pytest.approx([0, HOUR_S, 2 * HOUR_S], abs=61)


def test_a_clock_that_jumps_all_the_time_makes_no_burst() -> None:
    def wild(one: TurnedClocks) -> None:
        one.jump(86_400 if len(one.slept) % 2 else -86_400)
        one.events.append((one.steady_s + 1, wild))

    begun = syncs(TurnedClocks(HOUR_S, events=[(1, wild)]), 60)
    gaps = [after - before for before, after in pairwise(begun)]
    assert min(gaps) >= SETTLE_S
    assert len(begun) <= HOUR_S / SETTLE_S


@given(
    st.lists(st.tuples(st.floats(0, 20_000), st.floats(-1e9, 1e9)), max_size=20),
    st.floats(10, 7200),
)
def test_no_clock_makes_a_burst(jumps: list[tuple[float, float]], period_s: float) -> None:
    def jumping(by_s: float) -> Callable[[TurnedClocks], None]:
        return lambda one: one.jump(by_s)

    events = [(at_s, jumping(by_s)) for at_s, by_s in sorted(jumps)]
    begun = syncs(TurnedClocks(20_000, events=events), period_s)
    gaps = [after - before for before, after in pairwise(begun)]
    assert all(min(SETTLE_S, period_s * 0.9) - 1e-6 <= gap for gap in gaps)
    assert all(gap <= period_s * 1.1 + LOOK_S for gap in gaps), "nor does one hold a sync back"


def test_a_long_pause_looks_at_the_clock_now_and_then() -> None:
    clocks = TurnedClocks(HOUR_S)
    syncs(clocks)
    assert max(clocks.slept) == LOOK_S


def test_what_a_sync_raises_ends_it() -> None:
    def once() -> None:
        raise Over

    with pytest.raises(Over):
        repeat(once, 10, TurnedClocks(0))


# ---- a machine that stays in touch --------------------------------------------------------------


def turns(
    clocks: TurnedClocks, written_s: list[float], away: tuple[float, float] = (0, 0)
) -> list[float]:
    """When turns began, with a period of 2 s: somebody writes at some moments, the hub is away."""
    begun: list[float] = []

    def turn(now_s: float) -> bool:
        begun.append(now_s)
        return not away[0] <= now_s < away[1]

    def written() -> bool:
        due = [at_s for at_s in written_s if at_s <= clocks.steady_s]
        written_s[:] = written_s[len(due) :]
        return bool(due)

    with pytest.raises(Over):
        follow(turn, written, 2, clocks)
    return begun


def test_a_turn_comes_every_period_and_soon_after_a_write() -> None:
    assert turns(TurnedClocks(6.5), []) == pytest.approx([0, 2, 4, 6])
    begun = turns(TurnedClocks(5.9), [2.55, 2.56, 2.57])
    assert begun == pytest.approx([0, 2, 2.6, 4.6], abs=GLANCE_S + 1e-9)
    assert max(begun[2] - 2.55, 0) <= GLANCE_S + 1e-9


def test_a_hub_that_is_away_is_asked_ever_more_seldom_and_no_write_changes_that() -> None:
    writes = [at_s / 10 for at_s in range(10, 5_000)]
    begun = turns(TurnedClocks(500), writes, away=(0, 400))
    gaps = [after - before for before, after in pairwise(begun) if after < 400]
    assert gaps == pytest.approx([4, 8, 16, 32, 60, 60, 60, 60, 60], abs=GLANCE_S + 1e-6)
    back = next(at_s for at_s in begun if at_s >= 400)
    assert back < 400 + AWAY_S_MAX * (1 + JITTER)
    later = [after - before for before, after in pairwise(begun) if before > back]
    assert max(later) <= 2 * GLANCE_S, "and then a write is a turn again"


@given(st.floats(1, 59), st.integers(0, 10_000))
def test_pauses_grow_up_to_a_bound(period_s: float, failed: int) -> None:
    assert period_s <= away_s(period_s, failed) <= max(AWAY_S_MAX, period_s)
    assert away_s(period_s, failed) <= away_s(period_s, failed + 1)
