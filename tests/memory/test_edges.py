"""Edges and lists: derived ids, walks that end, pages that neither skip nor repeat."""

from __future__ import annotations

import pytest
from fix_memory import StillClock

from satchel.errors import InvalidInput, NotFound
from satchel.memory import change, edges, read
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.digest import derived_id


def test_linking_again_is_the_same_edge(ada: Replica) -> None:
    one, two = write(ada, "one").id, write(ada, "two").id
    first = edges.link(ada, one, two, "causes", weight=0.5)
    assert (first["id"], first["outcome"]) == (derived_id(one, two, "causes"), "created")
    assert edges.link(ada, one[-8:], two, "causes")["outcome"] == "exists"
    again = edges.link(ada, one, two, "causes", weight=0.9, metadata={"why": "tests"})
    assert (again["outcome"], again["weight"]) == ("updated", 0.9)
    assert edges.link(ada, two, one, "causes")["outcome"] == "created"
    assert edges.link(ada, one, two, "follows")["outcome"] == "created"
    assert len(edges.graph(ada, one)["edges"]) == 3


def test_unlink_and_link_anew(ada: Replica) -> None:
    one, two = write(ada, "one").id, write(ada, "two").id
    edges.link(ada, one, two, "causes")
    assert edges.unlink(ada, one, two, "causes")["outcome"] == "deleted"
    with pytest.raises(NotFound):
        edges.unlink(ada, one, two, "causes")
    assert edges.link(ada, one, two, "causes")["outcome"] == "created"


def test_an_edge_is_shown_while_both_ends_are_there(ada: Replica) -> None:
    one, two = write(ada, "one").id, write(ada, "two").id
    edges.link(ada, one, two, "causes")
    change.delete(ada, two, confirm=True)
    assert edges.graph(ada, one)["edges"] == []
    change.restore(ada, two)
    assert len(edges.graph(ada, one)["edges"]) == 1


def test_a_graph_with_a_cycle_ends(ada: Replica) -> None:
    keys = [write(ada, f"node {n}").id for n in range(5)]
    for start, end in zip(keys, [*keys[1:], keys[0]], strict=True):
        edges.link(ada, start, end, "next")
    assert [node["distance"] for node in edges.graph(ada, keys[0])["nodes"]] == [0, 1, 1]
    whole = edges.graph(ada, keys[0], depth=6)
    assert (len(whole["nodes"]), len(whole["edges"]), whole["truncated"]) == (5, 5, False)
    assert edges.link(ada, keys[0], keys[0], "self")["outcome"] == "created"
    assert len(edges.graph(ada, keys[0], depth=6)["nodes"]) == 5


@pytest.mark.parametrize(
    ("kind", "weight", "field"),
    [("", None, "type"), ("a\nb", None, "type"), ("x", float("inf"), "weight")],
)
def test_bad_edges(ada: Replica, kind: str, weight: float | None, field: str) -> None:
    one, two = write(ada, "one").id, write(ada, "two").id
    with pytest.raises(InvalidInput) as refusal:
        edges.link(ada, one, two, kind, weight=weight)
    assert refusal.value.field == field


def test_pages_neither_skip_nor_repeat(ada: Replica, clock: StillClock) -> None:
    keys = []
    for number in range(23):
        keys.append(write(ada, f"memory {number}").id)
        clock.at_ms += number % 3 == 0  # several share a millisecond
    found, after = list[str](), None
    while True:
        page = read.list_memories(ada, limit=5, after=after)
        found += [one["id"] for one in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert found == keys[::-1]


@pytest.mark.parametrize("after", ["", "x", "!!!", "bnVsbA", "WyJhIiwxXQ", "WzFd", "W1tbW1tb" * 9])
def test_a_made_up_cursor_is_refused(ada: Replica, after: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read.list_memories(ada, after=after)
    assert refusal.value.field == "after"


def test_list_filters(ada: Replica, clock: StillClock) -> None:
    fact = write(ada, "a fact", type="fact").id
    clock.at_ms += 100
    shared = write(ada, "a shared note", space="lab").id

    def listed(**given: object) -> list[str]:
        return [one["id"] for one in read.list_memories(ada, **given)["items"]]  # type: ignore[arg-type]

    assert listed() == [shared, fact]
    assert listed(type="fact") == [fact]
    assert listed(space="lab") == [shared]
    assert listed(scope="agent") == [fact]
    assert listed(since=clock.at_ms) == [shared]
    assert listed(until=clock.at_ms) == [fact]
    assert listed(agents=["bob"]) == []
    assert listed(as_of=clock.at_ms - 1) == [fact]


@pytest.mark.parametrize("given", ["beef", "", "zz", 7, "no-such"])
def test_ids_that_are_none(ada: Replica, given: object) -> None:
    write(ada, "x")
    with pytest.raises((InvalidInput, NotFound)):
        change.pin(ada, given)  # type: ignore[arg-type]
