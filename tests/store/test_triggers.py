"""Writes by hand, with another SQLite than the engine's: every rule of the triggers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import apsw
import pytest
from by_hand import add, found, history, mark_received, seal, version
from hand import Hand

from satchel.store import rows, triggers
from satchel.store.connection import Store
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, ENDS_MAX, GENERATION, INT64_MAX, SCRUBBED, lineage_of
from satchel_sync.tables import MEMORY, TABLES, Memory

Count = Callable[[str], int]


def test_triggers_use_nothing_that_an_old_sqlite_lacks() -> None:
    for statement in triggers.statements():
        for name in ("unixepoch", "subsec", "unhex", "->", "json", "iif", "RETURNING", "FILTER"):
            assert name not in statement


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_kind_is_stamped_queued_updated_and_buried(
    table: Any, by_hand: Hand, store: Store
) -> None:
    column = table.columns[-1]
    value = {"t": "words", "i": 7, "r": 0.5, "b": b"bytes"}[column.tag]
    by_hand.execute(
        f"INSERT INTO {table.name}({table.key}, {column.name}) VALUES('k', ?)", (value,)
    )
    made = version(by_hand, "k", table.name)
    assert (made["life"], made["origin"]) == (CREATED, store.replica_id)
    assert made["digest"] is None
    assert made["lineage"] == ""
    assert by_hand.execute("SELECT kind, key FROM outbox").fetchall() == [(table.name, "k")]
    by_hand.execute(f"UPDATE {table.name} SET {table.columns[0].name} = NULL, extra = 'x'")
    edited = version(by_hand, "k", table.name)
    assert edited["life"] == CREATED
    assert edited["hlc"] > made["hlc"]
    by_hand.execute(f"DELETE FROM {table.name}")
    data = ", ".join((*table.names, "extra"))
    assert by_hand.execute(f"SELECT {data} FROM {table.name}").fetchall() == [
        (None,) * (len(table.names) + 1)
    ]
    assert version(by_hand, "k", table.name)["life"] == CREATED + GENERATION


def test_an_insert_brings_no_version_of_its_own(by_hand: Hand, store: Store) -> None:
    add(by_hand, life=5, hlc=INT64_MAX - 1, origin=b"x" * 16, digest=b"y" * 8, lineage="z")
    made = version(by_hand)
    wall = by_hand.execute(
        "SELECT CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"
    ).fetchone()[0]
    assert made["life"] == CREATED
    assert made["origin"] == store.replica_id
    assert abs((made["hlc"] >> 16) - wall) < 10_000
    assert made["digest"] is None
    assert made["lineage"] == ""


def test_the_clock_never_repeats_or_goes_back(by_hand: Hand) -> None:
    ahead = (4_000_000_000_000 << 16) + 65_535
    by_hand.execute("UPDATE clock SET last = ?", (ahead,))
    add(by_hand, "m1")
    add(by_hand, "m2")
    assert version(by_hand, "m1")["hlc"] == ahead + 1
    assert version(by_hand, "m2")["hlc"] == ahead + 2
    by_hand.execute("UPDATE clock SET last = 0")
    by_hand.execute("UPDATE memory SET title = 't' WHERE id = 'm2'")
    assert version(by_hand, "m2")["hlc"] == ahead + 3


def test_a_write_that_changes_nothing_makes_no_version(
    by_hand: Hand, store: Store, count: Count
) -> None:
    add(by_hand, importance=0.5)
    mark_received(store)
    before = version(by_hand)
    by_hand.execute("UPDATE memory SET content = content, importance = 0.5, title = NULL")
    by_hand.execute(
        "INSERT OR REPLACE INTO memory(id, content, importance) VALUES('m1', 'the first text', 0.5)"
    )
    by_hand.execute("INSERT OR IGNORE INTO memory(id, content) VALUES('m1', 'other')")
    by_hand.execute("INSERT INTO memory(id) VALUES('m1') ON CONFLICT(id) DO NOTHING")
    assert version(by_hand) == before
    assert count("outbox") == 0
    assert history(store) == []


def test_many_rows_are_deleted_at_once(by_hand: Hand, store: Store, count: Count) -> None:
    for at in range(50):
        add(by_hand, f"m{at}", content=f"text {at}")
    by_hand.execute("DELETE FROM memory WHERE id <> 'm7'")
    assert count("memory WHERE content IS NULL AND (life >> 16) & 1 = 0") == 49
    assert count("memory") == 50
    assert found(by_hand, "text") == ["m7"]
    seal(store)
    assert count("history WHERE event = 'delete'") == 49
    assert count("outbox WHERE kind = 'memory'") == 50


def test_deleting_a_tombstone_changes_nothing(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    by_hand.execute("DELETE FROM memory")
    seal(store)
    before = version(by_hand)
    by_hand.execute("DELETE FROM memory")
    assert version(by_hand) == before
    assert len(history(store)) == 1


def test_history_keeps_old_and_new_values_exactly(by_hand: Hand, store: Store) -> None:
    add(by_hand, importance=0.1 + 0.2, valid_from=2**62)
    by_hand.execute("UPDATE memory SET content = 'é \"2\"', importance = NULL")
    by_hand.execute("DELETE FROM memory")
    assert history(store) == [
        (
            "update",
            '{"content":["the first text","é \\"2\\""],"importance":[0.30000000000000004,null]}',
        ),
        ("delete", '{"content":["é \\"2\\"",null],"valid_from":[4611686018427387904,null]}'),
    ]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE memory SET id = 'other'", "key of a memory"),
        ("UPDATE memory SET row = 99", "key of a memory"),
        ("UPDATE memory SET local = 1", "local is fixed"),
        ("REPLACE INTO memory(id, content, local) VALUES('m1', 'x', 1)", "local is fixed"),
    ],
)
def test_what_is_fixed_cannot_be_changed(statement: str, said: str, by_hand: Hand) -> None:
    add(by_hand)
    before = version(by_hand)
    with pytest.raises(sqlite3.IntegrityError, match=said):
        by_hand.execute(statement)
    assert version(by_hand) == before


def test_a_forgotten_row_is_final(by_hand: Hand) -> None:
    add(by_hand)
    by_hand.execute("UPDATE memory SET content = NULL")
    by_hand.execute("UPDATE control SET applying = 1")
    by_hand.execute("UPDATE memory SET life = ?, hlc = ?, origin = ?, digest = ?", SCRUBBED)
    by_hand.execute("UPDATE control SET applying = 0")
    for statement in (
        "UPDATE memory SET content = 'back'",
        "REPLACE INTO memory(id, content) VALUES('m1', 'back')",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="forgotten"):
            by_hand.execute(statement)
    by_hand.execute("DELETE FROM memory")
    by_hand.execute("INSERT OR IGNORE INTO memory(id, content) VALUES('m1', 'back')")
    assert version(by_hand)["life"] == INT64_MAX


def test_a_tasks_ends_are_counted(by_hand: Hand) -> None:
    by_hand.execute("INSERT INTO task(id, status) VALUES('t', 'pending')")
    expected = CREATED
    for status, step in [
        ("in_progress", 0),
        ("completed", 1),
        ("failed", 1),
        ("failed", 0),
        ("pending", 1),
        ("blocked", 0),
        (None, 0),
        ("cancelled", 1),
        (None, 1),
    ]:
        by_hand.execute("UPDATE task SET status = ?", (status,))
        expected += step
        assert version(by_hand, "t", "task")["life"] == expected, status
    by_hand.execute("UPDATE task SET title = 'only a title'")
    by_hand.execute("DELETE FROM task")
    by_hand.execute("UPDATE task SET status = 'completed'")
    assert version(by_hand, "t", "task")["life"] == expected + 2 * GENERATION
    by_hand.execute("UPDATE task SET life = life | ?", (ENDS_MAX,))
    by_hand.execute("UPDATE task SET status = 'failed'")
    assert version(by_hand, "t", "task")["life"] == (expected + 2 * GENERATION) | ENDS_MAX


def test_lineage_grows_by_versions_that_travelled_only(by_hand: Hand, store: Store) -> None:
    add(by_hand)
    by_hand.execute("UPDATE memory SET content = 'never sent'")
    assert version(by_hand)["lineage"] == ""
    bases = []
    for at in range(10):
        bases.append(mark_received(store))
        by_hand.execute("UPDATE memory SET content = ?", (f"edit {at}",))
        by_hand.execute("UPDATE memory SET title = ?", (f"second edit of {at}",))
    lineage = version(by_hand)["lineage"]
    assert lineage_of(lineage) == tuple(reversed(bases))[:8]
    assert lineage == " ".join(lineage_of(lineage))
    base = mark_received(store)
    by_hand.execute("DELETE FROM memory")
    assert lineage_of(version(by_hand)["lineage"])[:2] == (base, bases[-1])


def test_local_rows_and_what_hangs_on_them_never_leave(
    by_hand: Hand, store: Store, count: Count
) -> None:
    add(by_hand, "secret", local=1)
    add(by_hand, "open")
    by_hand.execute("INSERT INTO embedding(id, memory_id) VALUES('e', 'secret')")
    by_hand.execute("INSERT INTO relationship(id, from_id, to_id) VALUES('r1', 'secret', 'open')")
    by_hand.execute("INSERT INTO relationship(id, from_id, to_id) VALUES('r2', 'open', 'secret')")
    by_hand.execute("INSERT INTO relationship(id, from_id, to_id) VALUES('r3', 'open', 'open')")
    by_hand.execute("UPDATE memory SET content = 'changed'")
    by_hand.execute("UPDATE relationship SET weight = 2")
    by_hand.execute("DELETE FROM memory")
    by_hand.execute("DELETE FROM relationship")
    by_hand.execute("DELETE FROM embedding")
    by_hand.execute("REPLACE INTO memory(id, content, local) VALUES('secret', 'back', 1)")
    seal(store)
    queued = by_hand.execute("SELECT kind, key FROM outbox WHERE kind <> 'history'").fetchall()
    assert sorted(queued) == [("memory", "open"), ("relationship", "r3")]
    leaving = by_hand.execute(
        "SELECT DISTINCT history.key FROM outbox JOIN history ON history.id = outbox.key"
    ).fetchall()
    assert sorted(leaving) == [("open",), ("r3",)]
    assert count("history WHERE key = 'secret'") == 3
    assert by_hand.execute("SELECT local FROM memory WHERE id = 'secret'").fetchone() == (1,)


def test_a_deleted_local_memory_stays_local(by_hand: Hand) -> None:
    add(by_hand, local=1)
    by_hand.execute("DELETE FROM memory")
    assert by_hand.execute("SELECT content, local FROM memory").fetchone() == (None, 1)


def test_sealing_gives_the_digest_of_the_contract(by_hand: Hand, store: Store) -> None:
    add(by_hand, importance=-0.0, pinned=1, metadata='{"a": 1}', extra='{"new":"t:61"}')
    seal(store)
    with store.read() as db:
        names = ", ".join((*MEMORY.names, "extra"))
        values: Any = db.execute(f"SELECT {names} FROM memory").fetchone()
    assert version(by_hand)["digest"] == row_digest(MEMORY, "m1", values)
    by_hand.execute("DELETE FROM memory")
    seal(store)
    assert version(by_hand)["digest"] == row_digest(MEMORY, "m1", (None,) * len(values))


def test_the_engine_writes_through_the_same_triggers(store: Store, by_hand: Hand) -> None:
    with store.write(actor="ann") as db:
        rows.insert(db, Memory(id="m1", content="one"))
        rows.update(db, MEMORY, "m1", content="two")
    with store.read() as db:
        assert db.execute("SELECT event, actor FROM history").fetchall() == [("update", "ann")]
        assert isinstance(db, apsw.Connection)
    by_hand.execute("UPDATE memory SET content = 'three'")
    seal(store)
    actors = by_hand.execute("SELECT actor FROM history ORDER BY row").fetchall()
    assert actors == [("ann",), (None,)]
