"""Content that does not fit its version: found on this machine, and healed from a whole copy."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import apsw
import pytest
from machine import NOON_MS, accept, held, queued, remote, send, welcome, write

from satchel.store import rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer, Refusal, Row, Standing
from satchel_sync.stamp import SCRUBBED
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import MEMORY, Memory


def past_the_triggers(store: Store, statement: str) -> None:
    """What a tool without triggers does, or a disk that lies."""
    with closing(apsw.Connection(str(store.path))) as db:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        db.execute(statement)


@pytest.fixture
def whole(store: Store, replica: SqliteReplica) -> dict[str, Row]:
    """Three memories, a tombstone and a forgotten one, all sent."""
    write(store, *(Memory(id=key, content=f"the text of {key}") for key in ("a", "b", "c", "d")))
    with store.write() as db:
        rows.delete(db, MEMORY, "d")
    sent = send(replica)
    accept(replica, sent)
    replica.apply(MEMORY, [scrubbed(MEMORY, "s")], 1)
    return {row.key: row for row in sent} | {"s": scrubbed(MEMORY, "s")}


@pytest.mark.parametrize(
    ("damage", "key"),
    [
        ("UPDATE memory SET content = 'another text' WHERE id = 'a'", "a"),
        ("UPDATE memory SET content = NULL WHERE id = 'a'", "a"),
        ("UPDATE memory SET title = 'never said' WHERE id = 'a'", "a"),
        ("UPDATE memory SET content = CAST(x'61EDA080' AS TEXT) WHERE id = 'b'", "b"),
        ("UPDATE memory SET importance = 'x' WHERE id = 'b'", "b"),
        ("UPDATE memory SET content = 'a tombstone that talks' WHERE id = 'd'", "d"),
        ("UPDATE memory SET content = 'remembered after all' WHERE id = 's'", "s"),
    ],
)
def test_damage_is_found_and_healed(
    store: Store, replica: SqliteReplica, whole: dict[str, Row], damage: str, key: str
) -> None:
    assert list(replica.damaged(MEMORY)) == []
    past_the_triggers(store, damage)
    assert list(replica.damaged(MEMORY)) == [key]
    before = replica.digest(MEMORY)
    assert replica.heal(MEMORY, list(whole.values())) == 1
    assert list(replica.damaged(MEMORY)) == []
    assert held(store, key) == whole[key]
    assert (queued(store), replica.digest(MEMORY)) == ([], before)
    with store.write() as db:
        db.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES('integrity-check', 1)")
    assert replica.heal(MEMORY, list(whole.values())) == 0


def test_only_the_same_version_with_whole_content_heals(
    store: Store, replica: SqliteReplica, whole: dict[str, Row]
) -> None:
    past_the_triggers(store, "UPDATE memory SET content = 'damaged' WHERE id = 'a'")
    newer = remote("a", content="a newer version")
    damaged_too = replace(whole["a"], values=whole["b"].values)
    assert replica.heal(MEMORY, [newer, damaged_too, whole["b"]]) == 0
    assert list(replica.damaged(MEMORY)) == ["a"]


def test_what_stays_here_is_neither_damaged_nor_held(
    store: Store, replica: SqliteReplica, whole: dict[str, Row]
) -> None:
    write(store, Memory(id="local", content="x", local=1), Memory(id="nul", content="a\0b"))
    send(replica)
    past_the_triggers(store, "UPDATE memory SET content = 'y' WHERE id IN ('local', 'nul')")
    assert list(replica.damaged(MEMORY)) == []
    found = replica.held(MEMORY, ["a", "local", "nul", "unknown", "s"])
    assert [(row.key, row.stamp == SCRUBBED) for row in found] == [("a", False), ("s", True)]


def test_an_edit_of_a_damaged_row_makes_it_whole(
    store: Store, replica: SqliteReplica, whole: dict[str, Row]
) -> None:
    past_the_triggers(store, "UPDATE memory SET content = 'damaged' WHERE id = 'a'")
    with store.write() as db:
        rows.update(db, MEMORY, "a", content="written anew")
    assert list(replica.damaged(MEMORY)) == []
    assert [row.key for row in send(replica)] == ["a"]


def test_what_the_hub_refused_is_tried_again_in_a_reconcile_and_only_then(
    store: Store, replica: SqliteReplica
) -> None:
    write(store, Memory(id="refused", content="x"), Memory(id="nul", content="a\0b"))
    sent = send(replica)
    answer = PushAnswer((), refused=(Refusal("refused", "invalid", "origin 02 is unknown here"),))
    replica.settle(MEMORY, sent, replace(answer, now_ms=NOON_MS), 0)
    assert replica.quarantined() == 2
    replica.hello()
    replica.welcome(welcome())
    assert (send(replica), replica.quarantined()) == ((), 2)
    replica.hello()
    replica.welcome(replace(welcome(), standing=Standing.REWOUND))
    assert [row.key for row in send(replica)] == ["refused"]
    assert replica.quarantined() == 1


@pytest.mark.parametrize("column", ["title", "content"])
def test_a_newer_version_of_a_damaged_row_can_still_be_pulled(
    store: Store, replica: SqliteReplica, whole: dict[str, Row], column: str
) -> None:
    past_the_triggers(store, f"UPDATE memory SET {column} = 'never indexed' WHERE id = 'a'")
    newer = remote("a", NOON_MS + 5, lineage=whole["a"].stamp.hex(), content="a newer version")
    replica.apply(MEMORY, [newer], 2)
    assert (held(store, "a"), replica.cursor(MEMORY)) == (newer, 2)
