"""Tasks: states, leases, needs and trees; one claimer wins, no field is lost."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import pytest
from fix_memory import StillClock, seen_as
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import ConfirmationNeeded, Conflict, InvalidInput, NotFound
from satchel.memory import history
from satchel.memory.messages import messages
from satchel.memory.tasks import tasks
from satchel.memory.tasks.order import ordered
from satchel.memory.tasks.states import FINISHED, OPEN, STATES
from satchel.memory.text import json_list
from satchel.replica import Replica
from satchel_sync.tables import Task

VERBS = {
    "start": tasks.start,
    "block": tasks.block,
    "complete": tasks.complete,
    "fail": tasks.fail,
    "cancel": tasks.cancel,
    "reopen": tasks.reopen,
    "claim": tasks.claim,
    "release": tasks.release,
}
WAY_TO = {
    "pending": (),
    "in_progress": ("start",),
    "blocked": ("start", "block"),
    "completed": ("complete",),
    "failed": ("fail",),
    "cancelled": ("cancel",),
}
LEADS = {
    **{
        (state, verb): to
        for state in OPEN
        for verb, to in [
            ("start", "in_progress"),
            ("claim", "in_progress"),
            ("release", "pending"),
            ("complete", "completed"),
            ("fail", "failed"),
            ("cancel", "cancelled"),
        ]
    },
    **{(state, "reopen"): "pending" for state in FINISHED},
    ("in_progress", "block"): "blocked",
    ("blocked", "block"): "blocked",
}


@pytest.mark.parametrize(("state", "verb"), list(product(STATES, VERBS)))
def test_every_verb_from_every_state(ada: Replica, state: str, verb: str) -> None:
    key = tasks.create(ada, "t")["id"]
    for step in WAY_TO[state]:
        VERBS[step](ada, key)
    if (state, verb) in LEADS:
        after = VERBS[verb](ada, key)
        assert after["status"] == LEADS[state, verb]
        assert (after["completed_at"] is not None) == (after["status"] in FINISHED)
    else:
        with pytest.raises(Conflict, match=state):
            VERBS[verb](ada, key)
        assert tasks.get(ada, key)["status"] == state


def test_a_partial_update_loses_no_field(ada: Replica) -> None:
    parent = tasks.create(ada, "parent")["id"]
    need = tasks.create(ada, "need")["id"]
    before = tasks.create(
        ada,
        "title",
        description="long",
        parent=parent,
        owner="bob",
        priority=5,
        due_at=9,
        depends_on=[need],
        space="lab",
        metadata='{"a":  1}',
    )
    assert before == tasks.get(ada, before["id"])
    changes: dict[str, Any] = {"title": "new", "priority": 0, "metadata": {"b": 2}, "due_at": 10}
    for name, value in changes.items():
        after = tasks.update(ada, before["id"], **{name: value})
        assert {one for one in before if before[one] != after[one]} == {name}
        before = after
    events = history.history(ada, before["id"], kind="task")["items"]
    assert [one["event"] for one in events] == ["update"] * 4 + ["created"]


def test_claim_renew_expire(ada: Replica, clock: StillClock) -> None:
    key = tasks.create(ada, "t", space="lab")["id"]
    bob = seen_as(ada, "bob")
    held = tasks.claim(ada, key, lease_ms=1000)
    assert (held["claimed_by"], held["status"]) == ("ada", "in_progress")
    assert (held["lease_until"], held["leased"]) == (clock.at_ms + 1000, True)
    with pytest.raises(Conflict, match=r"held by ada until 2027-01-15T08:00:01"):
        tasks.claim(bob, key)
    with pytest.raises(Conflict, match="held by ada"):
        tasks.complete(bob, key)
    clock.at_ms += 500
    assert tasks.claim(ada, key, lease_ms=1000)["lease_until"] == clock.at_ms + 1000
    clock.at_ms += 1000
    assert tasks.claim(bob, key)["claimed_by"] == "bob"
    assert tasks.complete(bob, key, "painted")["lease_until"] is None
    with pytest.raises(Conflict, match="completed"):
        tasks.claim(ada, key)


def test_claims_that_are_refused(ada: Replica) -> None:
    need = tasks.create(ada, "first", space="lab")["id"]
    key = tasks.create(ada, "second", space="lab", depends_on=[need])["id"]
    with pytest.raises(Conflict, match=need):
        tasks.claim(ada, key)
    tasks.complete(ada, need)
    tasks.assign(ada, key, "bob")
    with pytest.raises(Conflict, match="assigned to bob"):
        tasks.claim(ada, key)
    with pytest.raises(InvalidInput, match="needs an agent"):
        tasks.claim(seen_as(ada, None), key)
    assert tasks.claim(seen_as(ada, None), key, agent="bob")["claimed_by"] == "bob"


def test_owner_and_asker_are_told(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    key = tasks.create(ada, "paint", owner="bob")["id"]
    (told,) = messages.inbox(bob, kind="notification")["items"]
    assert (told["title"], told["content"], told["task_id"]) == ("task_assigned", "paint", key)
    tasks.complete(bob, key, "done")
    (told,) = messages.inbox(ada)["items"]
    assert (told["title"], told["from_agent"]) == ("task_completed", "bob")
    tasks.assign(ada, key, "cleo")
    assert messages.inbox(seen_as(ada, "cleo"))["unread"] == 1


def test_a_block_has_a_reason_until_it_goes_on(ada: Replica) -> None:
    key = tasks.create(ada, "t", metadata={"a": 1})["id"]
    tasks.start(ada, key)
    assert tasks.block(ada, key, "no paint")["metadata"] == '{"a":1,"blocked_reason":"no paint"}'
    assert tasks.start(ada, key)["metadata"] == '{"a":1}'


def test_list_puts_needs_before_priority(ada: Replica) -> None:
    low = tasks.create(ada, "low", priority=1)["id"]
    high = tasks.create(ada, "high", priority=9, depends_on=[low])["id"]
    middle = tasks.create(ada, "middle", priority=5)["id"]
    done = tasks.create(ada, "done", priority=99)["id"]
    tasks.complete(ada, done)
    items = tasks.list_tasks(ada)["items"]
    assert [one["id"] for one in items] == [middle, low, high, done]
    assert [one["ready"] for one in items] == [True, True, False, False]
    assert [one["id"] for one in tasks.list_tasks(ada, ready=True)["items"]] == [middle, low]
    assert [one["id"] for one in tasks.list_tasks(ada, status="completed")["items"]] == [done]
    assert tasks.list_tasks(ada, limit=1)["total"] == 4


@given(st.lists(st.tuples(st.integers(-3, 3), st.sets(st.integers(0, 7))), min_size=1, max_size=8))
def test_any_dependencies_order_whole_and_without_end(rows: list[tuple[int, set[int]]]) -> None:
    """Cycles too: every task appears once, and before what needs it unless a cycle forbids."""
    given_tasks = [
        Task(
            id=f"t{n}",
            status="pending",
            priority=priority,
            depends_on=json_list([f"t{key}" for key in needs if key > n]),
        )
        for n, (priority, needs) in enumerate(rows)
    ]
    found = [task.id for task in ordered(given_tasks)]
    assert sorted(found) == sorted(task.id for task in given_tasks)
    place = {key: at for at, key in enumerate(found)}
    for n, (_, needs) in enumerate(rows):
        assert all(place[f"t{key}"] < place[f"t{n}"] for key in needs if n < key < len(rows))


def test_a_merged_cycle_of_needs_or_parents_ends(ada: Replica) -> None:
    keys = [tasks.create(ada, f"t{n}")["id"] for n in range(3)]
    with ada.store.write() as db:
        for one, other in [*pairwise(keys), (keys[-1], keys[0])]:
            needs = f'["{other}", "not a task", 7]'
            db.execute(
                "UPDATE task SET parent_id = ?, depends_on = ? WHERE id = ?", (other, needs, one)
            )
    assert len(tasks.list_tasks(ada)["items"]) == 3
    # The link that was made last closed the ring: it is the one that does not hold, seen from
    # wherever.
    cut, middle, leaf = keys[2], keys[1], keys[0]
    assert tasks.get(ada, cut)["parent_cut"] == "cycle"
    assert [tasks.get(ada, key)["parent_cut"] for key in (middle, leaf)] == [None, None]
    tree = tasks.tree(ada, cut)
    assert [one["id"] for one in tree["children"]] == [middle]
    assert [one["id"] for one in tree["children"][0]["children"]] == [leaf]
    assert tree["children"][0]["children"][0]["children"] == []
    assert tasks.tree(ada, leaf)["children"] == []
    assert tasks.list_tasks(ada, parent=leaf)["items"] == []
    # Mended by hand: out of the ring every link holds again.
    tasks.update(ada, cut, clear=["parent"])
    assert [tasks.get(ada, key)["parent_cut"] for key in keys] == [None] * 3


def test_trees(ada: Replica) -> None:
    root = tasks.create(ada, "root")["id"]
    one = tasks.create(ada, "one", parent=root[-8:])["id"]
    two = tasks.create(ada, "two", parent=root, priority=3)["id"]
    leaf = tasks.create(ada, "leaf", parent=one)["id"]
    tree = tasks.tree(ada, root)
    assert [child["id"] for child in tree["children"]] == [two, one]
    assert [child["id"] for child in tree["children"][1]["children"]] == [leaf]
    assert [one_["id"] for one_ in tasks.list_tasks(ada, parent=root)["items"]] == [two, one]
    for parent in (root, leaf):
        with pytest.raises(InvalidInput) as refusal:
            tasks.update(ada, root, parent=parent)
        assert refusal.value.field == "parent"


def test_needs_must_not_close_a_circle(ada: Replica) -> None:
    one = tasks.create(ada, "one")["id"]
    two = tasks.create(ada, "two", depends_on=[one])["id"]
    for needs in ([two], [one]):
        with pytest.raises(InvalidInput) as refusal:
            tasks.update(ada, one, depends_on=needs)
        assert refusal.value.field == "depends_on"
    assert tasks.update(ada, two, depends_on=[])["depends_on"] is None


def test_delete_needs_a_confirmation(ada: Replica) -> None:
    key = tasks.create(ada, "t")["id"]
    with pytest.raises(ConfirmationNeeded):
        tasks.delete(ada, key)
    assert tasks.delete(ada, key, confirm=True) == {"id": key, "outcome": "deleted"}
    with pytest.raises(NotFound):
        tasks.get(ada, key)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "a\0"}, "title"),
        ({"priority": 2**40}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"due_at": "soon"}, "due_at"),
        ({"owner": ""}, "owner"),
        ({"depends_on": "x"}, "depends_on"),
        ({"depends_on": ["deadbeef"]}, "id"),
        ({"parent": "deadbeef"}, "id"),
        ({"metadata": "3"}, "metadata"),
        ({"scope": "mine"}, "scope"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(
    ada: Replica, given: dict[str, Any], field: str
) -> None:
    with pytest.raises((InvalidInput, NotFound)) as refusal:
        tasks.create(ada, **{"title": "t", **given})
    assert refusal.value.field == field
    assert tasks.list_tasks(ada)["items"] == []
