"""Claims on one machine: leases, taking the next task, giving back, and who is told of a loss."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from fix_memory import StillClock, seen_as
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.memory.messages import messages
from satchel.memory.tasks import tasks
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Task


def told(replica: Replica, agent: str) -> list[tuple[str, str]]:
    """(title, content) of an agent's notifications, in their order."""
    items = messages.inbox(seen_as(replica, agent), kind="notification", acked=True)["items"]
    return [(one["title"], one["content"]) for one in items]


@pytest.fixture
def key(replica: Replica, ada: Replica) -> str:
    """A task of the operator in an open space, claimed by ada for a second."""
    made = tasks.create(replica, "paint", space="lab")["id"]
    tasks.claim(ada, made, lease_ms=1000)
    return str(made)


def expire(clock: StillClock) -> None:
    clock.at_ms += 1000


ENDS: dict[str, tuple[Callable[[Replica, str, StillClock], Any], list[tuple[str, str]]]] = {
    "another claims after the lease": (
        lambda r, key, clock: (expire(clock), tasks.claim(seen_as(r, "bob"), key)),
        [("task_claim_lost", "paint: bob holds it now")],
    ),
    "another takes it as the next": (
        lambda r, key, clock: (expire(clock), tasks.claim_next(seen_as(r, "bob"))),
        [("task_claim_lost", "paint: bob holds it now")],
    ),
    "given to another": (
        lambda r, key, clock: tasks.assign(r, key, "bob"),
        [("task_claim_lost", "paint: assigned to bob")],
    ),
    "given back by the operator": (
        lambda r, key, clock: tasks.release(r, key),
        [("task_claim_lost", "paint: nobody holds it now")],
    ),
    "cancelled by the operator": (
        lambda r, key, clock: tasks.cancel(r, key),
        [("task_cancelled", "paint")],
    ),
    "completed by the operator": (
        lambda r, key, clock: tasks.complete(r, key),
        [("task_completed", "paint")],
    ),
    "deleted": (
        lambda r, key, clock: tasks.delete(r, key, confirm=True),
        [("task_deleted", "task KEY was deleted")],
    ),
    "written by hand": (
        lambda r, key, clock: by_hand(r, "UPDATE task SET claimed_by = 'eve'"),
        [("task_claim_lost", "paint: eve holds it now")],
    ),
    "given to its holder": (lambda r, key, clock: tasks.assign(r, key, "ada"), []),
    "changed in another way": (lambda r, key, clock: tasks.update(r, key, priority=7), []),
    "blocked": (lambda r, key, clock: tasks.block(r, key, "rain"), []),
    "completed by its holder": (lambda r, key, clock: tasks.complete(seen_as(r, "ada"), key), []),
    "given back by its holder": (lambda r, key, clock: tasks.release(seen_as(r, "ada"), key), []),
    "deleted by its holder": (
        lambda r, key, clock: tasks.delete(seen_as(r, "ada"), key, confirm=True),
        [],
    ),
    "given away by its holder": (
        lambda r, key, clock: tasks.assign(seen_as(r, "ada"), key, "bob"),
        [],
    ),
}


def by_hand(replica: Replica, statement: str) -> None:
    with replica.store.write() as db:
        db.execute(statement)


@pytest.mark.parametrize("end", ENDS)
def test_the_holder_is_told_once_what_others_did(
    replica: Replica, ada: Replica, clock: StillClock, key: str, end: str
) -> None:
    act, expected = ENDS[end]
    act(replica, key, clock)
    for _ in range(2):  # whatever is written next tells it no second time
        tasks.create(ada, "another")
        tasks.assign(ada, tasks.create(ada, "and one more")["id"], "cleo")
    found = [(title, content.replace(key, "KEY")) for title, content in told(replica, "ada")]
    assert [one for one in found if one[0] != "task_assigned"] == expected
    with replica.store.read() as db:
        held = db.execute("SELECT agent_id FROM claim").fetchall()
    still = tasks.get(replica, key)["claimed_by"] if "deleted" not in end else None
    ended = "completed" in end or "cancelled" in end
    assert held == ([] if ended or still in (None, "eve") else [(still,)])


def test_who_asked_and_holds_is_told_once(ada: Replica) -> None:
    key = tasks.create(ada, "own", space="lab")["id"]
    tasks.claim(ada, key)
    tasks.complete(seen_as(ada, None), key)
    assert told(ada, "ada") == [("task_completed", "own")]


def test_a_claim_lost_and_won_and_lost_again_is_told_twice(replica: Replica, ada: Replica) -> None:
    key = tasks.create(replica, "t", space="lab")["id"]
    for _ in range(2):  # in one and the same millisecond
        tasks.claim(ada, key)
        tasks.release(replica, key)
    assert len(told(ada, "ada")) == 2


def test_renewing_leaves_a_block_and_a_new_holder_lifts_it(
    replica: Replica, ada: Replica, clock: StillClock, key: str
) -> None:
    tasks.block(ada, key, "rain")
    again = tasks.claim(ada, key, lease_ms=1000)
    assert (again["status"], again["metadata"]) == ("blocked", '{"blocked_reason":"rain"}')
    expire(clock)
    taken = tasks.claim(seen_as(ada, "bob"), key)
    assert (taken["status"], taken["metadata"]) == ("in_progress", None)


def test_only_the_holder_its_asker_and_the_operator_give_back(ada: Replica, key: str) -> None:
    with pytest.raises(Conflict, match="held by ada"):
        tasks.release(seen_as(ada, "bob"), key)
    back = tasks.release(ada, key)
    assert (back["status"], back["claimed_by"], back["ready"]) == ("pending", None, True)
    tasks.complete(ada, key)
    with pytest.raises(Conflict, match="completed"):
        tasks.release(ada, key)


def test_a_task_whose_lease_ran_out_is_ready_again(
    ada: Replica, clock: StillClock, key: str
) -> None:
    assert (tasks.get(ada, key)["ready"], tasks.get(ada, key)["stale"]) == (False, False)
    expire(clock)
    shown = tasks.get(ada, key)
    assert (shown["status"], shown["ready"], shown["stale"]) == ("in_progress", True, True)
    assert [one["id"] for one in tasks.list_tasks(ada, ready=True)["items"]] == [key]
    assert [one["id"] for one in tasks.list_tasks(ada, claimed_by="ada")["items"]] == [key]


def test_a_deleted_need_holds_nobody_up_and_an_unknown_one_does(ada: Replica) -> None:
    need = tasks.create(ada, "need")["id"]
    key = tasks.create(ada, "t", depends_on=[need])["id"]
    assert tasks.claim_next(ada)["task"]["id"] == need
    assert tasks.claim_next(ada)["task"] is None
    tasks.delete(ada, need, confirm=True)
    assert tasks.claim_next(ada)["task"]["id"] == key
    with ada.store.write() as db:
        rows.insert(db, Task(id="late", status="pending", scope="org", depends_on='["to come"]'))
    assert tasks.get(ada, "late")["waits_for"] == ["to come"]
    assert tasks.claim_next(ada)["task"] is None


@pytest.mark.parametrize("end", [tasks.complete, lambda r, key: tasks.delete(r, key, confirm=True)])
def test_who_waits_for_the_last_need_is_told(ada: Replica, end: Callable[..., Any]) -> None:
    needs = [tasks.create(ada, f"need {n}")["id"] for n in range(2)]
    for owner in ("bob", "ada", None):
        tasks.create(ada, f"of {owner}", owner=owner, depends_on=needs, space="lab")
    done = tasks.create(ada, "ended already", owner="cleo", depends_on=needs[:1])["id"]
    tasks.cancel(ada, done)
    tasks.complete(ada, needs[0])
    assert told(ada, "bob") == [("task_assigned", "of bob")]
    tasks.fail(ada, tasks.create(ada, "something else")["id"])
    end(ada, needs[1])
    assert told(ada, "bob") == [("task_assigned", "of bob"), ("task_ready", "of bob")]
    assert told(ada, "ada") == []
    assert told(ada, "cleo") == [("task_assigned", "ended already")]


def test_who_ends_a_need_is_not_told_what_waited_for_it(ada: Replica) -> None:
    """The sender of a message may read it: whoever does not see the task is not its sender."""
    cleo = seen_as(ada, "cleo")
    need = tasks.create(seen_as(ada, None), "need", scope="org")["id"]
    tasks.create(cleo, "a secret", owner="cleo", depends_on=[need])
    seen = tasks.create(ada, "known to bob", owner="ada", depends_on=[need], scope="org")["id"]
    tasks.complete(seen_as(ada, "bob"), need)
    sent = {
        one["content"]: one["from_agent"]
        for agent in ("ada", "cleo")
        for one in messages.inbox(seen_as(ada, agent), kind="notification")["items"]
    }
    assert sent == {"a secret": None, "known to bob": "bob"}
    assert tasks.get(seen_as(ada, "bob"), seen)["ready"] is True


def test_the_next_one_is_of_the_space_and_the_parent_asked(ada: Replica) -> None:
    root = tasks.create(ada, "root", space="a")["id"]
    part = tasks.create(ada, "part", space="b", parent=root)["id"]
    assert tasks.claim_next(ada, space="c")["task"] is None
    assert tasks.claim_next(ada, parent=root[-8:])["task"]["id"] == part
    assert tasks.claim_next(ada, space="a")["task"]["id"] == root
    with pytest.raises(NotFound):
        tasks.claim_next(ada, parent="deadbeef")
    with pytest.raises(InvalidInput, match="needs an agent"):
        tasks.claim_next(seen_as(ada, None))
    with pytest.raises(Refused):
        tasks.claim_next(ada, agent="bob")


def test_waiting_for_the_next_one(ada: Replica) -> None:
    began = time.monotonic()
    assert tasks.claim_next(ada, wait_ms=150)["task"] is None
    assert 0.15 <= time.monotonic() - began < 5
    found: list[Any] = []
    waiter = threading.Thread(
        target=lambda: found.append(tasks.claim_next(seen_as(ada, "bob"), wait_ms=30_000))
    )
    waiter.start()
    time.sleep(0.1)
    key = tasks.create(ada, "t", space="lab")["id"]
    waiter.join(10)
    assert found[0]["task"]["id"] == key
    assert tasks.get(ada, key)["claimed_by"] == "bob"


many = st.lists(
    st.tuples(
        st.sampled_from(["pending", "in_progress", "blocked", "completed", "odd", None]),
        st.integers(-1, 1),
        st.sampled_from([None, "ada", "bob"]),
        st.sampled_from([None, "ada", "bob"]),
        st.sampled_from([None, 0, 1]),
        st.sampled_from([None, 5]),
        st.sets(st.integers(0, 6), max_size=2),
    ),
    min_size=1,
    max_size=6,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(many)
def test_the_next_one_is_the_first_that_the_list_calls_ready(
    ada: Replica, clock: StillClock, drawn: list[Any]
) -> None:
    with ada.store.write() as db:
        db.execute("DELETE FROM task WHERE title = 'drawn'")
        for n, (status, priority, owner, holder, ends, due, needs) in enumerate(drawn):
            key = rows.new_id(clock.at_ms)
            rows.insert(
                db,
                Task(
                    id=key, title="drawn", scope="org", status=status, priority=priority,
                    owner_agent=owner, claimed_by=holder, due_at=due, created_at=n,
                    lease_until=None if ends is None else clock.at_ms + ends,
                ),
            )  # fmt: skip
            drawn[n] = (key, needs)
        for key, needs in drawn:
            wanted = [drawn[n][0] if n < len(drawn) else f"no {n}" for n in sorted(needs)]
            rows.update(db, rows.table_of(Task), key, depends_on=str(wanted).replace("'", '"'))
    everything = tasks.list_tasks(ada, limit=1000)["items"]
    ready = [one for one in everything if one["ready"]]
    assert tasks.list_tasks(ada, ready=True)["items"] == ready
    wanted = [one["id"] for one in ready if one["owner_agent"] in (None, "ada")]
    found = tasks.claim_next(ada)["task"]
    assert (found and found["id"]) == (wanted[0] if wanted else None)
