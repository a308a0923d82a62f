"""What is about a forgotten row is forgotten too, and damage is found and healed: both hubs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fix_hub import row_of, titled
from fix_sides import Doors
from fix_sync import memory_row

from satchel_sync.changes import Loser, Row, Version
from satchel_sync.ports import Hub
from satchel_sync.stamp import CREATED, SCRUBBED
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import BY_NAME, HISTORY, MEMORY, RELATIONSHIP, Table

M, EDGE = "memory-1", "edge-1"
FORGOTTEN = memory_row(M, None, SCRUBBED)
NOTE = row_of(MEMORY, M, titled(MEMORY, content="secret"))
ABOUT = {
    "history": row_of(HISTORY, "h", titled(HISTORY, kind="memory", key=M, changes="secret")),
    "embedding": row_of(BY_NAME["embedding"], "e", titled(BY_NAME["embedding"], memory_id=M)),
    "relationship": row_of(RELATIONSHIP, EDGE, titled(RELATIONSHIP, from_id=M, to_id="other")),
}
BACK = row_of(RELATIONSHIP, "back", titled(RELATIONSHIP, from_id="other", to_id=M))
OF_EDGE = row_of(
    HISTORY, "of edge", titled(HISTORY, kind="relationship", key=EDGE, changes="secret")
)


def held(hub: Hub, table: Table, key: str) -> Row:
    """The row that the hub has now."""
    (row,) = hub.fetch(table, [key]).rows
    return row


def about(kind: str) -> tuple[Table, Row]:
    return BY_NAME[kind], ABOUT[kind]


UNLINKED = {
    end: row_of(HISTORY, end, titled(
        HISTORY, kind="relationship", key="gone edge",
        changes=json.dumps({end: [M, None], "metadata": ["secret", None]}),
    ))
    for end in ("from_id", "to_id")
}  # fmt: skip
"""History of an edge that is deleted: only this still tells whose it was."""


@pytest.mark.parametrize("end", UNLINKED)
def test_the_history_of_a_deleted_edge_goes_with_what_it_was_about(hub: Hub, end: str) -> None:
    dead = row_of(RELATIONSHIP, "gone edge", titled(RELATIONSHIP), life=2 * CREATED)
    named = titled(HISTORY, kind="task", key="t", changes=json.dumps({end: [M, None]}))
    other = row_of(HISTORY, "o", named)
    hub.push(MEMORY, [NOTE])
    hub.push(RELATIONSHIP, [dead])
    hub.push(HISTORY, [UNLINKED[end], other])
    before = hub.bound()["history"]
    hub.push(MEMORY, [FORGOTTEN])
    assert held(hub, HISTORY, end) == scrubbed(HISTORY, end)
    assert held(hub, RELATIONSHIP, "gone edge") == dead
    assert held(hub, HISTORY, "o") == other
    assert [r.key for r in hub.pull(HISTORY, before, hub.bound()["history"]).rows] == [end]


@pytest.mark.parametrize("end", UNLINKED)
def test_the_history_of_a_deleted_edge_is_scrubbed_on_arrival(hub: Hub, end: str) -> None:
    hub.push(MEMORY, [FORGOTTEN])
    answer = hub.push(HISTORY, [UNLINKED[end]])
    assert dict(answer.superseded) == {end: Version(SCRUBBED)}
    assert held(hub, HISTORY, end) == scrubbed(HISTORY, end)


@pytest.mark.parametrize("kind", ABOUT)
def test_what_is_about_a_forgotten_row_is_scrubbed_with_it(hub: Hub, kind: str) -> None:
    table, row = about(kind)
    hub.push(MEMORY, [NOTE])
    hub.push(table, [row])
    before = hub.bound()[kind]
    hub.push(MEMORY, [FORGOTTEN])
    assert held(hub, table, row.key) == scrubbed(table, row.key)
    assert [r.key for r in hub.pull(table, before, hub.bound()[kind]).rows] == [row.key]


@pytest.mark.parametrize("kind", ABOUT)
def test_what_is_about_a_forgotten_row_is_scrubbed_on_arrival(hub: Hub, kind: str) -> None:
    table, row = about(kind)
    hub.push(MEMORY, [FORGOTTEN])
    answer = hub.push(table, [row])
    assert (answer.accepted, dict(answer.superseded)) == ((), {row.key: Version(SCRUBBED)})
    assert held(hub, table, row.key) == scrubbed(table, row.key)
    bound = hub.bound()
    assert dict(hub.push(table, [row]).superseded) == {row.key: Version(SCRUBBED)}
    assert hub.push(table, [scrubbed(table, row.key)]).accepted == (row.key,)
    assert bound == hub.bound(), "a replay changes nothing"


def test_both_ends_of_an_edge_count_and_the_history_of_an_edge_goes_too(hub: Hub) -> None:
    hub.push(MEMORY, [NOTE])
    hub.push(RELATIONSHIP, [ABOUT["relationship"], BACK])
    hub.push(HISTORY, [OF_EDGE])
    hub.push(MEMORY, [FORGOTTEN])
    for table, key in ((RELATIONSHIP, EDGE), (RELATIONSHIP, "back"), (HISTORY, "of edge")):
        assert held(hub, table, key).stamp == SCRUBBED


def test_rows_about_others_stay(hub: Hub) -> None:
    other = row_of(HISTORY, "h2", titled(HISTORY, kind="task", key=M, changes="a task"))
    hub.push(HISTORY, [other])
    hub.push(MEMORY, [FORGOTTEN])
    assert held(hub, HISTORY, "h2") == other


def test_the_journal_keeps_nothing_of_what_was_forgotten(hub: Hub, doors: Doors) -> None:
    edge = ABOUT["relationship"]
    losers = [
        Loser("memory", NOTE, NOTE.stamp, "pull", 1),
        Loser("relationship", edge, edge.stamp, "pull", 1),
    ]
    hub.push(MEMORY, [NOTE])
    hub.journal(losers)
    assert len(doors.journal()) == 2
    hub.push(MEMORY, [FORGOTTEN])
    assert doors.journal() == []
    hub.journal(losers)
    assert doors.journal() == []


def test_damage_is_found_and_healed_without_a_new_version(hub: Hub, doors: Doors) -> None:
    others = [row_of(MEMORY, f"k{number}", titled(MEMORY, content="x")) for number in range(3)]
    dead = row_of(MEMORY, "dead", titled(MEMORY), life=2 * CREATED)
    hub.push(MEMORY, [NOTE, *others, dead, memory_row("gone", None, SCRUBBED)])
    assert list(hub.damaged(MEMORY)) == []
    bound = hub.bound()
    doors.damage(M, "a disk that lies")
    doors.damage("dead", "a ghost")
    doors.damage("gone", "what should be gone")
    assert sorted(hub.damaged(MEMORY)) == sorted([M, "dead", "gone"])
    unfit = replace(NOTE, values=titled(MEMORY, content="unfit"))
    assert hub.heal(MEMORY, [unfit, others[0]]) == 0
    assert hub.heal(MEMORY, [NOTE, dead, memory_row("gone", None, SCRUBBED)]) == 3
    assert list(hub.damaged(MEMORY)) == []
    assert held(hub, MEMORY, M) == NOTE
    assert bound == hub.bound()


def test_another_version_heals_nothing(hub: Hub, doors: Doors) -> None:
    hub.push(MEMORY, [NOTE])
    doors.damage(M, "a disk that lies")
    newer = row_of(MEMORY, M, titled(MEMORY, content="newer"), hlc=1 << 41)
    assert hub.heal(MEMORY, [newer]) == 0
    assert list(hub.damaged(MEMORY)) == [M]
