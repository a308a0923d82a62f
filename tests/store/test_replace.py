"""INSERT OR REPLACE and its relatives by hand: an update, never a loss."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from by_hand import add, found, history, mark_received, version
from hand import Hand

from satchel.store.connection import Store
from satchel_sync.stamp import CREATED, GENERATION

Count = Callable[[str], int]


def test_a_refused_insert_changes_nothing(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    before = version(by_hand)
    for policy in ("", "OR ABORT", "OR FAIL", "OR ROLLBACK"):
        with pytest.raises(sqlite3.IntegrityError):
            by_hand.execute(f"INSERT {policy} INTO memory(id, content) VALUES('m1', 'other')")
    assert version(by_hand) == before
    assert history(store) == []


def test_restore_by_update_and_by_replace(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    by_hand.execute("DELETE FROM memory")
    by_hand.execute("UPDATE memory SET content = 'again'")
    assert version(by_hand)["life"] == CREATED + 2 * GENERATION
    by_hand.execute("DELETE FROM memory")
    by_hand.execute("INSERT OR REPLACE INTO memory(id, content) VALUES('m1', 'once more')")
    assert version(by_hand)["life"] == CREATED + 4 * GENERATION
    by_hand.execute("DELETE FROM memory")
    by_hand.execute("INSERT OR REPLACE INTO memory(id) VALUES('m1')")
    assert version(by_hand)["life"] == CREATED + 6 * GENERATION
    assert [event for event, _ in history(store)].count("restore") == 2
    assert found(by_hand, "again OR once") == []


def test_replace_is_an_update(by_hand: Hand, store: Store, count: Count) -> None:
    add(by_hand, title="old title", content="old words")
    base = mark_received(store)
    before = version(by_hand)
    by_hand.execute("INSERT OR REPLACE INTO memory(id, content) VALUES('m1', 'new words')")
    after = version(by_hand)
    assert after["life"] == before["life"]
    assert after["hlc"] > before["hlc"]
    assert after["digest"] is None
    assert after["lineage"] == base
    assert count("memory") == 1
    assert count("outbox WHERE kind = 'memory'") == 1
    assert history(store) == [
        ("update", '{"content":["old words","new words"],"title":["old title",null]}')
    ]
    assert found(by_hand, "old") == []
    assert found(by_hand, "new") == ["m1"]


def test_replace_over_and_over_keeps_the_text_index(by_hand: Hand) -> None:
    for at in range(20):
        by_hand.execute("REPLACE INTO memory(id, content) VALUES('m1', ?)", (f"word{at} " * 50,))
        by_hand.execute("REPLACE INTO chatlog(id, content) VALUES('c1', ?)", (f"word{at} " * 50,))
        by_hand.execute("UPDATE OR REPLACE memory SET title = ? WHERE id = 'm1'", (f"title{at}",))
    assert found(by_hand, "word19 AND title19") == ["m1"]
    assert found(by_hand, "word18 OR title18") == []


def test_replace_of_many_rows_at_once(by_hand: Hand, count: Count) -> None:
    for at in range(10):
        add(by_hand, f"m{at}")
    by_hand.execute("DELETE FROM memory WHERE id = 'm3'")
    by_hand.execute(
        "INSERT OR REPLACE INTO memory(id, content)"
        " SELECT id, 'replaced text' FROM memory UNION ALL SELECT 'new', 'replaced text'"
    )
    assert count("memory WHERE content = 'replaced text'") == 11
    assert version(by_hand, "m3")["life"] == CREATED + 2 * GENERATION
    assert version(by_hand, "m4")["life"] == CREATED
    assert version(by_hand, "new")["life"] == CREATED


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR IGNORE INTO memory(id, content) VALUES('m1', 'ignored')",
        "INSERT INTO memory(id) VALUES('m1') ON CONFLICT(id) DO NOTHING",
        (
            "INSERT INTO memory(id, content) VALUES('m1', 'u') ON CONFLICT(id) DO UPDATE"
            " SET content = excluded.content"
        ),
        "REPLACE INTO memory(id, content) VALUES('m1', 'r')",
    ],
)
def test_a_delete_after_any_insert_leaves_a_tombstone(statement: str, by_hand: Hand) -> None:
    add(by_hand)
    by_hand.execute("BEGIN")
    by_hand.execute(statement)
    by_hand.execute("DELETE FROM memory WHERE id = 'm1'")
    by_hand.execute("COMMIT")
    assert by_hand.execute("SELECT id, content, life FROM memory").fetchall() == [
        ("m1", None, CREATED + GENERATION)
    ]


def test_upsert_is_an_update(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    base = mark_received(store)
    by_hand.execute(
        "INSERT INTO memory(id, content) VALUES('m1', 'upserted') ON CONFLICT(id)"
        " DO UPDATE SET content = excluded.content"
    )
    after = version(by_hand)
    assert (after["life"], after["lineage"]) == (CREATED, base)
    assert history(store) == [("update", '{"content":["the first text","upserted"]}')]


def test_replace_by_row_number_cannot_take_another_row(by_hand: Hand) -> None:
    add(by_hand, "m1")
    add(by_hand, "m2")
    row = by_hand.execute("SELECT row FROM memory WHERE id = 'm1'").fetchone()[0]
    with pytest.raises(sqlite3.IntegrityError, match="belongs to another memory"):
        by_hand.execute("REPLACE INTO memory(row, id, content) VALUES(?, 'm2', 'x')", (row,))
    with pytest.raises(sqlite3.IntegrityError, match="belongs to another memory"):
        by_hand.execute("REPLACE INTO memory(row, id, content) VALUES(?, 'm9', 'x')", (row,))
