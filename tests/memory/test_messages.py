"""Messages: order, threads, dedup keys, expiry, acknowledging all, and waiting for one to come."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from fix_memory import StillClock, seen_as
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import InvalidInput, NotFound, Refused
from satchel.memory.messages import messages
from satchel.memory.messages.twins import Keyed, hidden, open_run, runs
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Message


def texts(replica: Replica, **asked: Any) -> list[str]:
    return [one["content"] for one in messages.inbox(replica, **asked)["items"]]


@pytest.fixture
def bob(ada: Replica) -> Replica:
    return seen_as(ada, "bob")


def test_first_in_first_out_though_the_clock_stands_or_goes_back(
    ada: Replica, bob: Replica, clock: StillClock
) -> None:
    for n in range(4):
        messages.send(ada, "bob", str(n))
        clock.at_ms -= 1000
    assert texts(bob) == ["0", "1", "2", "3"]
    question = messages.inbox(bob)["items"][-1]
    answer = messages.send(bob, "ada", "yes", thread_id=question["id"])
    assert answer["created_at"] > question["created_at"] > clock.at_ms


def test_a_message_of_a_clock_that_was_far_ahead_holds_up_no_order(
    ada: Replica, bob: Replica, clock: StillClock
) -> None:
    clock.at_ms += 10**9
    messages.send(ada, "bob", "from the future")
    clock.at_ms -= 10**9
    assert messages.send(ada, "bob", "now")["created_at"] == clock.at_ms
    assert texts(bob) == ["now", "from the future"]


def test_the_larger_priority_comes_first_and_unread_before_all(ada: Replica, bob: Replica) -> None:
    _, high, middle = (
        messages.send(ada, "bob", name, priority=priority)["id"]
        for name, priority in (("low", -1), ("high", 5), ("middle", 0))
    )
    assert texts(bob) == ["high", "middle", "low"]
    messages.ack(bob, [high])
    assert texts(bob) == ["middle", "low"]
    assert texts(bob, acked=True) == ["middle", "low", "high"]
    assert messages.get(bob, middle)["acked_at"] is None
    assert messages.get(ada, high[-9:])["acked_at"] is not None


def test_threads(ada: Replica, bob: Replica) -> None:
    first = messages.send(ada, "bob", "lunch?")["id"]
    answer = messages.send(bob, "ada", "where?", thread_id=first)["id"]
    messages.send(ada, "bob", "at the pier", thread_id=answer)
    aside = messages.send(ada, "cleo", "bob comes too", thread_id=answer)["id"]
    messages.send(ada, "bob", "something else")
    whole = ["lunch?", "where?", "at the pier", "bob comes too"]
    for key in (first, answer, aside):
        assert [one["content"] for one in messages.thread(ada, key)["items"]] == whole
    assert [one["content"] for one in messages.thread(bob, first)["items"]] == whole[:3]
    assert [one["content"] for one in messages.thread(seen_as(ada, "cleo"), aside)["items"]] == [
        "bob comes too"
    ]
    assert texts(bob, thread_id=answer) == ["lunch?", "at the pier"]
    assert len(messages.thread(ada, first, limit=2)["items"]) == 2
    for missing in (lambda: messages.thread(bob, aside), lambda: messages.get(bob, aside)):
        with pytest.raises(NotFound):
            missing()


def test_a_thread_in_a_ring_or_with_a_lost_beginning_ends(ada: Replica, bob: Replica) -> None:
    one = messages.send(ada, "bob", "one")["id"]
    two = messages.send(ada, "bob", "two", thread_id=one)["id"]
    with ada.store.write() as db:
        rows.update(db, rows.table_of(Message), one, thread_id=two)
    assert [item["content"] for item in messages.thread(bob, one)["items"]] == ["one", "two"]
    with ada.store.write() as db:
        rows.update(db, rows.table_of(Message), one, thread_id="not here")
        for n in range(2):
            rows.insert(db, Message(id=f"m{n}", to_agent="bob", content=f"{n}", thread_id="gone"))
    assert [item["content"] for item in messages.thread(bob, "m0")["items"]] == ["0", "1"]


def test_acknowledging_all_leaves_what_was_not_seen_and_what_is_of_others(
    ada: Replica, bob: Replica
) -> None:
    seen = [
        messages.send(ada, "bob", f"n{n}", kind="notification", priority=n)["id"] for n in range(3)
    ]
    messages.send(ada, "cleo", "hers", kind="notification")
    messages.send(ada, "bob", "a letter")
    assert messages.ack_all(bob, kind="notification", upto=seen[1]) == {"acked": 2}
    assert texts(bob, kind="notification") == ["n2"]
    assert messages.ack_all(bob, kind="notification") == {"acked": 1}
    assert messages.ack_all(bob, kind="notification") == {"acked": 0}
    assert texts(bob) == ["a letter"]
    assert messages.inbox(seen_as(ada, "cleo"))["unread"] == 1
    assert messages.ack_all(seen_as(ada, None), agent="cleo") == {"acked": 1}
    refused: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: messages.ack_all(seen_as(ada, None)), InvalidInput),
        (lambda: messages.ack_all(bob, agent="ada"), Refused),
        (lambda: messages.ack_all(bob, upto="deadbeef"), NotFound),
    ]
    for call, refusal in refused:
        with pytest.raises(refusal):
            call()


def test_several_are_acknowledged_or_none(ada: Replica, bob: Replica) -> None:
    key = messages.send(ada, "bob", "x")["id"]
    with pytest.raises(NotFound):
        messages.ack(bob, [key, "deadbeefdeadbeef"])
    assert messages.inbox(bob)["unread"] == 1


def test_an_expired_message_gives_way_to_a_new_one_with_its_key(
    ada: Replica, bob: Replica, clock: StillClock
) -> None:
    messages.send(ada, "bob", "old", dedup_key="k", expires_at=clock.at_ms + 10)
    assert messages.send(ada, "bob", "same", dedup_key="k")["content"] == "old"
    assert messages.send(seen_as(ada, "cleo"), "bob", "hers", dedup_key="k")["outcome"] == "created"
    clock.at_ms += 10
    assert messages.send(ada, "bob", "new", dedup_key="k")["outcome"] == "created"
    assert texts(bob) == ["hers", "new"]


# ---- waiting ------------------------------------------------------------------------------------


def test_a_wait_ends_with_its_time_and_says_so(ada: Replica) -> None:
    began = time.monotonic()
    found = messages.inbox(ada, wait_ms=200)
    assert found == {"items": [], "unread": 0, "timed_out": True}
    assert 0.2 <= time.monotonic() - began < 5
    assert messages.inbox(ada) == {"items": [], "unread": 0}


def test_a_wait_ends_with_the_message_that_it_is_for(ada: Replica, bob: Replica) -> None:
    messages.send(ada, "bob", "read already", kind="notification")
    messages.ack_all(bob)
    found: list[Any] = []

    def wait() -> None:
        asked = messages.inbox(bob, kind="notification", wait_ms=30_000)
        found.append((asked["items"][0]["content"], time.monotonic()))

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.1)
    messages.send(ada, "bob", "a letter")
    messages.send(ada, "cleo", "not his", kind="notification")
    time.sleep(0.2)
    assert not found
    sent = time.monotonic()
    messages.send(ada, "bob", "wake up", kind="notification")
    waiter.join(10)
    assert found[0][0] == "wake up"
    assert found[0][1] - sent < 2
    assert messages.inbox(bob, kind="notification", wait_ms=30_000)["unread"] == 1, "at once"


# ---- the rule of dedup keys ---------------------------------------------------------------------

times = st.integers(0, 6)
keyed = st.builds(
    Keyed,
    group=st.sampled_from(["k", "l", "m"]),
    created_at=times,
    id=st.uuids().map(str),
    acked_at=st.none() | times,
    expires_at=st.none() | times,
)


@given(st.lists(keyed, max_size=7, unique_by=lambda one: one.id), times, st.randoms())
def test_each_run_shows_one_whatever_the_order_of_arrival(
    drawn: list[Keyed], now: int, random: Any
) -> None:
    found = hidden(drawn, now)
    shuffled = list(drawn)
    random.shuffle(shuffled)
    assert hidden(shuffled, now) == found
    cut = runs(drawn)
    assert Counter(one.id for run in cut for one in run) == Counter(one.id for one in drawn)
    for run in cut:
        assert len({one.group for one in run}) == 1
        assert [one.id for one in run if one.id not in found] != []
        assert len(run) - len([one for one in run if one.id in found]) == 1
        for before, after in pairwise(run):
            assert before.is_open(after.created_at), "what was sent after an end is news"
        if any(one.acked_at is not None for one in run):
            (shown,) = [one for one in run if one.id not in found]
            assert shown.acked_at is not None, "what was read is not unread again"


@given(st.lists(st.tuples(st.booleans(), st.none() | st.integers(1, 3)), max_size=8))
def test_where_all_is_known_nothing_is_kept_twice(steps: list[tuple[bool, int | None]]) -> None:
    """Sent one after the other on one machine: no run has two, so nothing is ever hidden."""
    kept: list[Keyed] = []
    for at, (acked, expires) in enumerate(steps):
        if open_run(kept, at) is None:
            ends = None if expires is None else at + expires
            kept.append(Keyed("k", at, f"m{at}", None, ends))
        if acked:
            kept[-1] = kept[-1]._replace(acked_at=kept[-1].acked_at or at + 1)
    assert all(len(run) == 1 for run in runs(kept))
    assert hidden(kept, 99) == frozenset()
