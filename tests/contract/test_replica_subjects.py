"""What is about a forgotten row is forgotten too, and damage is found and healed: both replicas."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fix_hub import row_of, titled
from fix_sides import Side
from fix_sync import memory_row

from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import BY_NAME, HISTORY, MEMORY, RELATIONSHIP

M, EDGE = "memory-1", "edge-1"
OTHER = b"\x02" * 16
FORGOTTEN = memory_row(M, None, SCRUBBED)
NOTE = row_of(MEMORY, M, titled(MEMORY, content="secret"), origin=OTHER)
ABOUT = {
    "history": row_of(HISTORY, "h", titled(HISTORY, kind="memory", key=M, changes="secret")),
    "embedding": row_of(BY_NAME["embedding"], "e", titled(BY_NAME["embedding"], memory_id=M)),
    "relationship": row_of(RELATIONSHIP, EDGE, titled(RELATIONSHIP, from_id=M, to_id="other")),
}
OF_EDGE = row_of(
    HISTORY, "of edge", titled(HISTORY, kind="relationship", key=EDGE, changes="secret")
)


@pytest.mark.parametrize("kind", ABOUT)
def test_what_is_about_a_forgotten_row_is_scrubbed_with_it(side: Side, kind: str) -> None:
    table, row = BY_NAME[kind], ABOUT[kind]
    side.replica.apply(MEMORY, [NOTE], 1)
    side.replica.apply(table, [row], 1)
    side.replica.apply(MEMORY, [FORGOTTEN], 2)
    assert side.held(row.key, table) == scrubbed(table, row.key)
    assert side.waiting(kind) == [], "the hub scrubs what it has by itself"


@pytest.mark.parametrize("kind", ABOUT)
def test_what_is_about_a_forgotten_row_is_scrubbed_on_arrival(side: Side, kind: str) -> None:
    table, row = BY_NAME[kind], ABOUT[kind]
    side.replica.apply(MEMORY, [FORGOTTEN], 1)
    for cursor in (2, 3):  # the hub has not scrubbed it yet, as it brings it whole: it has to hear
        side.replica.apply(table, [row], cursor)
        assert side.held(row.key, table) == scrubbed(table, row.key)
        assert side.waiting(kind) == [row.key]


def test_the_history_of_an_edge_goes_with_the_edge(side: Side) -> None:
    side.replica.apply(RELATIONSHIP, [ABOUT["relationship"]], 1)
    side.replica.apply(HISTORY, [OF_EDGE], 1)
    side.replica.apply(MEMORY, [FORGOTTEN], 1)
    assert side.held("of edge", HISTORY).stamp == SCRUBBED


UNLINKED = row_of(HISTORY, "unlinked", titled(
    HISTORY, kind="relationship", key="gone edge",
    changes=json.dumps({"to_id": [M, None], "metadata": ["secret", None]}),
))  # fmt: skip
"""History of an edge that is deleted: only this still tells whose it was."""


def test_the_history_of_a_deleted_edge_goes_with_what_it_was_about(side: Side) -> None:
    named = titled(HISTORY, kind="task", key="t", changes=json.dumps({"to_id": [M, None]}))
    other = row_of(HISTORY, "other", named)
    side.replica.apply(HISTORY, [UNLINKED, other], 1)
    side.replica.apply(MEMORY, [FORGOTTEN], 2)
    assert side.held("unlinked", HISTORY) == scrubbed(HISTORY, "unlinked")
    assert side.held("other", HISTORY) == other
    assert side.waiting("history") == [], "the hub scrubs what it has by itself"


def test_the_history_of_a_deleted_edge_is_scrubbed_on_arrival(side: Side) -> None:
    side.replica.apply(MEMORY, [FORGOTTEN], 1)
    side.replica.apply(HISTORY, [UNLINKED], 2)
    assert side.held("unlinked", HISTORY) == scrubbed(HISTORY, "unlinked")


def test_what_was_still_to_be_sent_is_sent_as_scrubbed(side: Side) -> None:
    table, row = HISTORY, ABOUT["history"]
    side.replica.apply(table, [row], 1)
    side.replica.requeue(table, [row.key])
    side.replica.apply(MEMORY, [FORGOTTEN], 1)
    assert side.waiting("history") == [row.key]
    assert side.held(row.key, table).stamp == SCRUBBED


def test_the_journal_keeps_nothing_of_what_was_forgotten(side: Side) -> None:
    side.put(M, "mine")
    side.replica.apply(MEMORY, [replace(NOTE, stamp=NOTE.stamp._replace(hlc=1 << 62 >> 1))], 1)
    assert [loser.row.key for loser in side.replica.losers()] == [M]
    side.replica.apply(MEMORY, [FORGOTTEN], 2)
    assert list(side.replica.losers()) == []


def test_damage_is_found_and_healed_without_a_new_version(side: Side) -> None:
    for key in ("a", "b", "c"):
        side.put(key, f"text {key}")
    side.send()
    whole = side.held("a")
    assert list(side.replica.damaged(MEMORY)) == []
    side.damage("a", "a disk that lies")
    assert list(side.replica.damaged(MEMORY)) == ["a"]
    unfit = replace(whole, values=titled(MEMORY, content="unfit"))
    assert side.replica.heal(MEMORY, [unfit, side.held("b")]) == 0
    assert side.replica.heal(MEMORY, [whole]) == 1
    assert (side.held("a"), list(side.replica.damaged(MEMORY)), side.waiting()) == (whole, [], [])


def test_another_version_heals_nothing(side: Side) -> None:
    side.put("a", "mine")
    side.send()
    side.damage("a", "a disk that lies")
    newer = row_of(MEMORY, "a", titled(MEMORY, content="newer"), hlc=1 << 60)
    assert side.replica.heal(MEMORY, [newer]) == 0
    assert list(side.replica.damaged(MEMORY)) == ["a"]


def test_held_leaves_out_what_is_not_there(side: Side) -> None:
    side.put("a", "mine")
    assert [row.key for row in side.replica.held(MEMORY, ["a", "nothing"])] == ["a"]
