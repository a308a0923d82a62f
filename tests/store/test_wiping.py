"""A scrubbed text is in no page, log, index or side file afterwards: the disk's bytes are read.

The word is one that stemming leaves alone, so that an index would hold it as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from machine import NOON_MS, edit, held, queued, remote, send, values, write

from satchel.config import Settings
from satchel.memory.search.search import search
from satchel.memory.visibility import Caller
from satchel.replica import Replica
from satchel.store import journal, quarantine, rows, scrubbing, wiping
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Loser, Row
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, SCRUBBED, Stamp
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import (
    CHATLOG,
    EMBEDDING,
    HISTORY,
    MEMORY,
    RELATIONSHIP,
    Chatlog,
    Embedding,
    Memory,
    Relationship,
    Table,
)

WORD = "zqxjkvbp"
VECTOR = b"\xde\xad\xbe\xef" * 8
THEIRS = b"\x02" * 16


def traces(home: Path) -> list[str]:
    """Files of a home in which the word or the vector is."""
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and any(told in path.read_bytes() for told in (WORD.encode(), VECTOR))
    ]


def fill(store: Store) -> None:
    """A memory `m` with all that may be about it, and others that say something else."""
    others = [Memory(id=f"other-{n}", content=f"some other text {n}") for n in range(300)]
    write(store, Memory(id="m", content=f"{WORD} first", scope="org"), *others)
    send(SqliteReplica(store))
    edit(store, "m", title=f"about {WORD}")
    edit(store, "m", content=f"{WORD} second")
    write(
        store,
        Embedding(id="e", memory_id="m", model="x", chunk=0, dims=8, dtype="f32", vector=VECTOR),
        Relationship(id="r", from_id="other-1", to_id="m", type="about", metadata=f'"{WORD}"'),
        Relationship(id="free", from_id="other-1", to_id="other-2", type="about"),
    )
    with store.write() as db:
        rows.update(db, RELATIONSHIP, "r", metadata=f'"{WORD}, edited"')
        lost = held_row(MEMORY, "m", content=f"{WORD} lost")
        journal.add(db, Loser("memory", lost, lost.stamp._replace(hlc=9), "pull", NOON_MS))
        quarantine.put(db, MEMORY, "m", ("content", f"it says {WORD}"), NOON_MS)
        db.execute("INSERT OR IGNORE INTO embed_queue(memory_id, since_ms) VALUES('m', 1)")


def held_row(table: Table, row_key: str, **columns: object) -> Row:
    content = values(table, **columns)
    stamp = Stamp(CREATED, 5, THEIRS, row_digest(table, row_key, content))
    return Row(row_key, stamp, "", content)


def by_the_tool(store: Store) -> None:
    with store.write() as db:
        scrubbing.scrub(db, [("memory", "m")])
    wiping.wipe(store)


def by_a_pull(store: Store) -> None:
    replica = SqliteReplica(store)
    replica.hello()
    replica.apply(MEMORY, [scrubbed(MEMORY, "m")], 7)
    replica.record({"ok": True})


@pytest.fixture(params=[by_the_tool, by_a_pull])
def forget(request: pytest.FixtureRequest) -> Callable[[Store], None]:
    found: Callable[[Store], None] = request.param
    return found


def test_nothing_of_a_scrubbed_memory_is_left(
    store: Store, forget: Callable[[Store], None]
) -> None:
    fill(store)
    operator = Replica(store, Settings(home=store.home), Caller(None, "una", "operator"))
    assert [hit.id for hit in search(operator, WORD).hits] == ["m"]
    assert traces(store.home), "the test can see it"
    forget(store)
    assert traces(store.home) == []
    assert search(operator, WORD).hits == []
    with store.read() as db:
        assert wiping.owed(db) == []
        for table in ("conflict", "quarantine", "history_pending", "history_field"):
            assert db.execute(f"SELECT count(*) FROM {table}").get == 0, table
        assert db.execute("SELECT count(*) FROM embed_queue WHERE memory_id = 'm'").get == 0
        counts = [
            db.execute(f"SELECT count(*) FROM {kind} WHERE life = {SCRUBBED.life}").get
            for kind in ("memory", "embedding", "relationship", "history")
        ]
    assert counts == [1, 1, 1, 3], "two edits of the memory, one of the edge"
    assert held(store, "free", RELATIONSHIP).stamp != SCRUBBED
    check_indexes(store)
    operator.close()


def check_indexes(store: Store) -> None:
    with store.write() as db:
        for index in wiping.INDEXES:
            db.execute(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")


def test_what_the_hub_never_met_is_queued_and_the_rest_it_scrubs_itself(store: Store) -> None:
    write(store, Memory(id="m", content=WORD))
    edit(store, "m", content=f"{WORD} again")
    write(store, Embedding(id="old", memory_id="m", dims=8, dtype="f32", vector=VECTOR))
    replica = SqliteReplica(store)
    for table in (MEMORY, HISTORY, EMBEDDING):
        send(replica, table)
    with store.write() as db:
        db.execute("DELETE FROM outbox")
    write(store, Embedding(id="new", memory_id="m", dims=8, dtype="f32", vector=VECTOR))
    replica.apply(MEMORY, [scrubbed(MEMORY, "m")], 1)
    assert (queued(store), queued(store, HISTORY)) == ([], [])
    assert queued(store, EMBEDDING) == ["new"]
    assert send(replica, EMBEDDING) == (scrubbed(EMBEDDING, "new"),)


def test_the_tool_queues_what_it_forgets(store: Store) -> None:
    write(store, Memory(id="m", content=WORD))
    send(SqliteReplica(store))
    with store.write() as db:
        db.execute("DELETE FROM outbox")
        assert [(kind, key) for kind, key, _ in scrubbing.about(db, [("memory", "m")])] == [
            ("memory", "m")
        ]
        scrubbing.scrub(db, [("memory", "m"), ("memory", "unknown")])
        assert scrubbing.about(db, [("memory", "m")]) == []
    assert send(SqliteReplica(store)) == (scrubbed(MEMORY, "m"),)


@pytest.mark.parametrize("table", [HISTORY, EMBEDDING, RELATIONSHIP], ids=lambda t: t.name)
def test_a_row_about_a_scrubbed_one_is_scrubbed_on_arrival(store: Store, table: Table) -> None:
    replica = SqliteReplica(store)
    about: dict[str, Any] = {
        "history": {"kind": "memory", "key": "m", "changes": WORD},
        "embedding": {"memory_id": "m", "vector": VECTOR, "dims": 8, "dtype": "f32"},
        "relationship": {"from_id": "x", "to_id": "m", "metadata": WORD},
    }[table.name]
    replica.apply(MEMORY, [scrubbed(MEMORY, "m")], 1)
    replica.apply(table, [held_row(table, "late", **about)], 1)
    assert held(store, "late", table) == scrubbed(table, "late")
    edge = held_row(HISTORY, "of-late", kind=table.name, key="late", changes=WORD)
    replica.apply(HISTORY, [edge], 2)
    assert held(store, "of-late", HISTORY) == scrubbed(HISTORY, "of-late")
    assert traces(store.home) == []


def test_a_change_that_waits_to_become_history_is_dropped(
    store: Store, forget: Callable[[Store], None]
) -> None:
    write(store, Memory(id="m", content="harmless"))
    with store.write() as db:
        db.execute("UPDATE control SET wall_ms = NULL")
    # By a hand: the change is in history_pending until somebody seals it.
    hand = apsw.Connection(str(store.path))
    hand.execute("UPDATE memory SET content = ? WHERE id = 'm'", (WORD,))
    hand.execute("UPDATE memory SET content = 'harmless again' WHERE id = 'm'")
    hand.close()
    forget(store)
    assert traces(store.home) == []
    with store.read() as db:
        told = db.execute("SELECT changes FROM history").fetchall()
    assert told == [(None,)] * len(told)


def test_a_reader_only_delays_it(store: Store) -> None:
    """The log cannot be cut while somebody reads from it; the next sync does it."""
    fill(store)
    impatient = Store.open(store.path, busy_timeout_ms=50, durability="process")
    reader = apsw.Connection(str(store.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchall()
    by_a_pull(impatient)
    with store.read() as db:
        assert wiping.owed(db) != []
    reader.close()
    SqliteReplica(impatient).record({"ok": True})
    assert traces(store.home) == []
    impatient.close()


def test_a_scrubbed_turn_of_a_chat_leaves_its_index_too(store: Store) -> None:
    write(store, *(Chatlog(id=f"c{n}", content=f"turn {n}") for n in range(50)))
    write(store, Chatlog(id="c", conversation_id="x", ordinal=1, content=WORD))
    replica = SqliteReplica(store)
    replica.apply(CHATLOG, [scrubbed(CHATLOG, "c")], 1)
    replica.record({"ok": True})
    assert traces(store.home) == []
    check_indexes(store)


def test_an_unknown_row_that_is_forgotten_is_kept_as_such(store: Store) -> None:
    replica = SqliteReplica(store)
    replica.apply(MEMORY, [scrubbed(MEMORY, "m")], 1)
    replica.apply(MEMORY, [remote("m", content=WORD)], 2)
    assert held(store, "m") == scrubbed(MEMORY, "m")
    with store.read() as db:
        assert wiping.owed(db) == []


def test_a_row_written_here_about_a_forgotten_one_is_scrubbed_when_it_is_sealed(
    store: Store,
) -> None:
    replica = SqliteReplica(store)
    write(store, Relationship(id="before", from_id="x", to_id="m", type="about"))
    replica.apply(MEMORY, [scrubbed(MEMORY, "m")], 1)
    write(
        store,
        Relationship(id="late", from_id="m", to_id="x", type="about", metadata=WORD),
        Embedding(id="late", memory_id="m", dims=8, dtype="f32", vector=VECTOR),
        Relationship(id="other", from_id="x", to_id="y", type="about"),
    )
    for table in (RELATIONSHIP, EMBEDDING):
        assert held(store, "late", table) == scrubbed(table, "late")
    assert held(store, "before", RELATIONSHIP).stamp == SCRUBBED
    assert held(store, "other", RELATIONSHIP).stamp != SCRUBBED
    assert set(queued(store, RELATIONSHIP)) == {"before", "late", "other"}
    replica.record({"ok": True})
    assert traces(store.home) == []


def test_in_whatever_order_they_arrive_nothing_about_a_forgotten_row_is_kept(
    store: Store,
) -> None:
    replica = SqliteReplica(store)
    for number, order in enumerate(itertools.permutations(range(5))):
        memory, edge, vector = f"m{number}", f"r{number}", f"e{number}"
        arriving = [
            (MEMORY, scrubbed(MEMORY, memory)),
            (RELATIONSHIP, held_row(RELATIONSHIP, edge, from_id=memory, to_id="x", metadata=WORD)),
            (EMBEDDING, held_row(EMBEDDING, vector, memory_id=memory, vector=VECTOR)),
            (HISTORY, held_row(HISTORY, f"hm{number}", kind="memory", key=memory, changes=WORD)),
            (
                HISTORY,
                held_row(HISTORY, f"hr{number}", kind="relationship", key=edge, changes=WORD),
            ),
        ]
        for at in order:
            table, row = arriving[at]
            replica.apply(table, [row], number + 1)
        for table, row in arriving:
            assert held(store, row.key, table) == scrubbed(table, row.key), (order, table.name)
    replica.record({"ok": True})
    assert traces(store.home) == []
