"""The gate: what cannot travel is named with kind, key, column and reason; the rest goes on."""

from __future__ import annotations

from typing import Any

import pytest
from hand import Hand

from satchel.store import quarantine
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.limits import ROW_BYTES_MAX
from satchel_sync.tables import BY_NAME, EMBEDDING, MEMORY, Table

SURROGATE = b"ab\xed\xa0\x80"


def values(table: Table, **columns: Any) -> tuple[Any, ...]:
    return (*(columns.get(name) for name in table.names), columns.get("extra"))


@pytest.mark.parametrize(
    ("table", "columns", "column", "said"),
    [
        (MEMORY, {"content": "a\0b"}, "content", "NUL at position 1"),
        (MEMORY, {"content": "ab\ud800"}, "content", "lone surrogate at position 2"),
        (MEMORY, {"content": SURROGATE}, "content", "lone surrogate at byte 2"),
        (MEMORY, {"content": b"\xff"}, "content", "no UTF-8 at byte 0"),
        (MEMORY, {"content": b"plain"}, "content", "it is a blob, not text"),
        (MEMORY, {"title": 7}, "title", "it is an integer, not text"),
        (MEMORY, {"importance": float("nan")}, "importance", "no finite number"),
        (MEMORY, {"importance": float("-inf")}, "importance", "no finite number"),
        (MEMORY, {"importance": "high"}, "importance", "it is text, not float64"),
        (MEMORY, {"valid_from": 2.0**63}, "valid_from", "beyond int64"),
        (MEMORY, {"valid_from": 1.5}, "valid_from", "it is a float, not int64"),
        (MEMORY, {"valid_from": "noon"}, "valid_from", "it is text, not int64"),
        (MEMORY, {"extra": "{"}, "extra", "not of the form"),
        (MEMORY, {"extra": "[1]"}, "extra", "not of the form"),
        (MEMORY, {"extra": '{"a":5}'}, "extra", "not of the form"),
        (MEMORY, {"extra": '{"a":"i:00"}'}, "extra", "do not fit the tag"),
        (MEMORY, {"extra": '{"a":"x:00"}'}, "extra", "unknown type tag"),
        (MEMORY, {"extra": '{"title":"t:61"}'}, "extra", "'title', which is a column"),
        (MEMORY, {"extra": b"x"}, "extra", "it is a blob, not text"),
        (MEMORY, {"content": "x" * ROW_BYTES_MAX}, None, "can travel"),
        (MEMORY, {"content": "é" * (ROW_BYTES_MAX // 2)}, None, "can travel"),
        (EMBEDDING, {"vector": b"1234", "dims": 2, "dtype": "f32"}, "vector", "not 2 numbers"),
        (EMBEDDING, {"vector": b"1234", "dims": None, "dtype": "f32"}, "vector", "not None"),
        (EMBEDDING, {"vector": b"1234", "dims": 1, "dtype": "f64"}, "vector", "not f16 or f32"),
        (EMBEDDING, {"vector": "text", "dims": 1, "dtype": "f32"}, "vector", "not a blob"),
    ],
)  # fmt: skip
def test_a_fault_is_named(table: Table, columns: Any, column: str | None, said: str) -> None:
    found = quarantine.inspect(table, "key", values(table, **columns))
    assert found is not None
    assert found[0] == column
    assert said in found[1]


@pytest.mark.parametrize("key", ["", "a\0", "\udfff", 7, b"k", None, "é" * 513])
def test_a_key_that_cannot_travel(key: Any) -> None:
    found = quarantine.inspect(MEMORY, key, values(MEMORY))
    assert found is not None
    assert found[0] == "id"


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (MEMORY, {}),
        (MEMORY, {"content": "é\U0001f600", "importance": 1, "valid_from": -(2**63)}),
        (MEMORY, {"extra": '{"new":"i:0000000000000001"}', "importance": -0.0}),
        (EMBEDDING, {"vector": b"1234", "dims": 2, "dtype": "f16"}),
        (EMBEDDING, {"vector": b"1234", "dims": 1, "dtype": "f32"}),
        (EMBEDDING, {"memory_id": "m"}),
    ],
)
def test_what_may_travel(table: Table, columns: Any) -> None:
    assert quarantine.inspect(table, "key", values(table, **columns)) is None


BY_HAND = [
    ("memory", "INSERT INTO memory(id, content) VALUES('bad', 'a' || char(0) || 'b')", "content"),
    ("memory", "INSERT INTO memory(id, content) VALUES('bad', CAST(x'61eda080' AS TEXT))",
     "content"),
    ("memory", "INSERT INTO memory(id, content) VALUES('bad', x'6162')", "content"),
    ("memory", "INSERT INTO memory(id, valid_from) VALUES('bad', 'noon')", "valid_from"),
    ("memory", "INSERT INTO memory(id, valid_from) VALUES('bad', 9223372036854775808)",
     "valid_from"),
    ("memory", "INSERT INTO memory(id, importance) VALUES('bad', 9e999)", "importance"),
    ("memory", "INSERT INTO memory(id, extra) VALUES('bad', 'not json')", "extra"),
    ("memory", "INSERT INTO memory(id, content) VALUES('bad', printf('%.*c', 9000000, 'x'))",
     None),
    ("memory", "INSERT INTO memory(id, content) VALUES(CAST(x'ff' AS TEXT), 'x')", "id"),
    ("memory", "INSERT INTO memory(id, content) VALUES(x'6b', 'x')", "id"),
    ("embedding", "INSERT INTO embedding(id, dims, dtype, vector) VALUES('bad', 3, 'f32', x'00')",
     "vector"),
    ("task", "INSERT INTO task(id, priority) VALUES('bad', 'urgent')", "priority"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "statement", "column"), BY_HAND)
def test_a_bad_row_by_hand_stays_and_the_rest_goes(
    kind: str, statement: str, column: str | None, by_hand: Hand, store: Store
) -> None:
    table, replica = BY_NAME[kind], SqliteReplica(store)
    column_name = table.columns[0].name
    by_hand.execute(f"INSERT INTO {kind}({table.key}) VALUES('first')")
    by_hand.execute(statement)
    by_hand.execute(f"INSERT INTO {kind}({table.key}, {column_name}) VALUES('last', 'x')")
    end = replica.outbox_end()
    batch = replica.outgoing(table, 0, end)
    assert batch is not None
    assert [row.key for row in batch.rows] == ["first", "last"]
    assert (batch.quarantined, batch.last_seq) == (1, end)
    with store.read() as db:
        (entry,) = quarantine.listed(db, table)
    assert (entry.kind, entry.column) == (kind, column)
    assert entry.reason
    again = replica.outgoing(table, 0, end)
    assert again is not None
    assert (len(again.rows), again.quarantined) == (2, 0)
    assert replica.quarantined() == 1
    assert replica.held_back(table) == ({"bad"} if column != "id" else frozenset())


def test_a_row_mended_by_hand_travels(by_hand: Hand, store: Store) -> None:
    replica = SqliteReplica(store)
    by_hand.execute("INSERT INTO memory(id, content) VALUES('m', CAST(x'61eda080' AS TEXT))")
    batch = replica.outgoing(MEMORY, 0, replica.outbox_end())
    assert batch is not None
    assert batch.quarantined == 1
    by_hand.execute("UPDATE memory SET content = 'mended'")
    batch = replica.outgoing(MEMORY, 0, replica.outbox_end())
    assert batch is not None
    assert [row.key for row in batch.rows] == ["m"]
    assert replica.held_back(MEMORY) == frozenset()
    with store.read() as db:
        changes = db.execute("SELECT changes FROM history").get
    assert changes == '{"content":["a\\\\xed\\\\xa0\\\\x80","mended"]}'
