"""Many new rows at once: the same file as row by row, whoever writes beside it, killed anywhere."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from machine import NOON_MS, OTHER, Clock, remote, values, write

from satchel.store import bulk
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Row
from satchel_sync.clock import pack
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, GENERATION, Stamp
from satchel_sync.tables import (
    BY_NAME,
    EMBEDDING,
    KINDS,
    MEMORY,
    Chatlog,
    Embedding,
    Memory,
    Table,
    Value,
)

PULLER = Path(__file__).with_name("puller.py")
ROWS = 2 * bulk.ROWS_MIN
NUMBERED_ANEW = {"vector_change"}
"""Tables whose numbers are drawn at random."""


def page_of(table: Table, seed: int) -> list[Row]:
    """New rows with about half of their columns set, one in ten a tombstone."""
    draw = random.Random(seed)
    drawn: dict[str, Callable[[], Value]] = {
        "t": lambda: draw.choice(["", "née 🦔", "a plain word", "two  lines\nof it", '["x","y"]']),
        "i": lambda: draw.randint(-5, 5),
        "r": draw.random,
        "b": lambda: draw.randbytes(8),
    }

    def one(at: int) -> Row:
        key, dead = f"{table.name}-{at:05}", draw.random() < 0.1
        columns = [None if dead or draw.random() < 0.5 else drawn[c.tag]() for c in table.columns]
        extra = None if dead or at % 7 else '{"later":"t:61"}'
        stamp = Stamp(
            CREATED + GENERATION * dead, pack(NOON_MS) + at, OTHER,
            row_digest(table, key, (*columns, extra)),
        )  # fmt: skip
        return Row(key, stamp, "", (*columns, extra))

    return [one(at) for at in range(ROWS)]


def content(path: Path) -> dict[str, list[Any]]:
    """Every table of a file, in order; the text indexes are checked against theirs."""
    db = apsw.Connection(str(path))
    try:
        for fts in ("memory_fts", "chatlog_fts"):
            db.execute(f"INSERT INTO {fts}({fts}, rank) VALUES('integrity-check', 1)")
        names = [
            str(name)
            for (name,) in db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%_fts%'"
                " AND name NOT LIKE '%_vocab'"
            )
        ]
        found: dict[str, list[Any]] = {
            name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names
        }
        for name in NUMBERED_ANEW:
            query = f"SELECT source, row, seq >= 0 FROM {name} WHERE source < 2"
            found[name] = db.execute(query).fetchall()
        for kind in ("memory", "chatlog"):
            query = f"SELECT term, doc, cnt FROM {kind}_vocab"
            found[f"{kind}_vocab"] = db.execute(query).fetchall()
    finally:
        db.close()
    found["meta"] = []  # ids drawn at random
    found["control"] = []
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def stored_before(store: Store) -> None:
    """What the page meets: vectors that came before their memory, turns behind new ones."""
    write(store, *(Memory(id=f"mine-{at}", content="of this machine") for at in range(3)))
    write(
        store,
        *(
            Embedding(id=f"e{at}", memory_id=f"memory-{at:05}", model="m", chunk=0)
            for at in range(0, ROWS, 9)
        ),
        *(
            Chatlog(
                id=f"t{at}{said}", conversation_id=said, ordinal=at, role="user", content="said"
            )
            for at in range(-5, 6)
            for said in ("", "a plain word")
        ),
        Memory(id="memory-00003", content="held, and older", local=None),
        Memory(id="memory-00004", content="stays here", local=1),
    )
    with store.write() as db:
        db.execute("DELETE FROM turn_queue")
        db.execute("UPDATE vector_change SET seq = -row")
        db.execute(
            "INSERT INTO turn_vector(turn, model, chunk, dims, vector)"
            " SELECT row, 'm', 0, 1, x'00000000' FROM chatlog"
        )


def applied(home: Path, pages: list[tuple[Table, list[Row]]]) -> dict[str, list[Any]]:
    path = home / "satchel.db"
    with Store.open(path, durability="process", clock=Clock()) as store:
        with store.write() as db:
            db.execute("UPDATE control SET replica_id = ?", (bytes(15) + b"7",))
        stored_before(store)
        for at, (table, rows) in enumerate(pages):
            assert SqliteReplica(store).apply(table, rows, at + 1).applied
        return content(path)


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_at_once_make_the_same_file_as_triggers_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    table = BY_NAME[kind]
    pages = [(table, page_of(table, seed=len(kind)))]
    counted: list[int] = []
    insert = bulk.insert

    def counting(db: apsw.Connection, table: Table, rows: Sequence[Row]) -> None:
        counted.append(1)
        insert(db, table, rows)

    monkeypatch.setattr(bulk, "insert", counting)
    at_once = applied(tmp_path / "at once", pages)
    assert counted == [1]
    monkeypatch.setattr(bulk, "ROWS_MIN", ROWS + 1)
    by_triggers = applied(tmp_path / "by triggers", pages)
    assert counted == [1]
    assert at_once.keys() == by_triggers.keys()
    for name, rows in by_triggers.items():
        assert at_once[name] == rows, name


def test_numbers_of_vectors_grow_with_their_rows(store: Store, replica: SqliteReplica) -> None:
    replica.apply(EMBEDDING, page_of(EMBEDDING, 1), 1)
    with store.read() as db:
        found = db.execute("SELECT seq FROM vector_change WHERE source = 0 ORDER BY row").fetchall()
    numbers = [int(str(seq)) for (seq,) in found]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == ROWS


def test_triggers_run_again_after_a_load_that_failed(
    store: Store, replica: SqliteReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(MEMORY, 2)
    broken = [*page[:-1], Row("bad", page[0].stamp, "", values(MEMORY, content={}))]
    monkeypatch.setattr(bulk, "text_hash", lambda *texts: "0" * 64)
    with pytest.raises(TypeError):
        replica.apply(MEMORY, broken, 1)
    assert replica.cursor(MEMORY) == 0
    write(store, Memory(id="m1", content="written afterwards"))
    with store.read() as db:
        assert db.execute("SELECT count(*) FROM memory").get == 1
        assert db.execute("SELECT key FROM outbox").fetchall() == [("m1",)]
        query = "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH 'afterwards'"
        assert db.execute(query).get == 1


def test_somebody_who_writes_meanwhile_is_indexed_once(store: Store) -> None:
    done = threading.Event()
    written: list[str] = []

    def writer() -> None:
        with Store.open(store.path, durability="process") as other:
            while not done.is_set():
                key = f"beside-{len(written)}"
                write(other, Memory(id=key, content=f"racing {key}"))
                written.append(key)

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        replica = SqliteReplica(store)
        for start in range(0, 20 * ROWS, ROWS):
            page = [remote(f"m{at}", content="pulled") for at in range(start, start + ROWS)]
            replica.apply(MEMORY, page, start + ROWS)
    finally:
        done.set()
        thread.join()
    assert len(written) > 3
    check_texts(store, pulled=20 * ROWS, racing=len(written))
    with store.read() as db:
        assert db.execute("SELECT count(*) FROM outbox WHERE kind = 'memory'").get == len(written)


def check_texts(store: Store, **counts: int) -> None:
    """The file is sound, its text index equal to its table, and each word in so many rows."""
    with store.write() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES('integrity-check', 1)")
        for word, count in counts.items():
            query = "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ?"
            assert db.execute(query, (word,)).get == count


def test_kill_9_in_the_middle_of_a_page_keeps_whole_pages_only(path: Path) -> None:
    cursor, kills, draw = 0, 0, random.Random(5)
    deadline = time.monotonic() + 60
    while kills < 8 and time.monotonic() < deadline:
        process = subprocess.Popen(
            [sys.executable, str(PULLER), str(path), "400"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(draw.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        said = process.communicate(timeout=30)[0].split("\n")[:-1]
        kills += process.returncode == -signal.SIGKILL
        with Store.open(path) as store:
            now = SqliteReplica(store).cursor(MEMORY)
            assert now >= max([cursor, *map(int, said)])
            check_texts(store, pulled=now)
            with store.read() as db:
                query = "SELECT count(*), coalesce(max(row), 0) FROM memory"
                assert db.execute(query).fetchone() == (now, now)
                assert db.execute("SELECT count(*) FROM sync_base").get == now
        cursor = now
    assert kills == 8
    assert cursor > 0


def test_a_row_that_was_stored_so_is_edited_like_any_other(
    store: Store, replica: SqliteReplica
) -> None:
    page = [remote(f"m{at}", content="first words") for at in range(ROWS)]
    replica.apply(MEMORY, page, 1)
    with store.write() as db:
        db.execute("UPDATE memory SET content = 'other words' WHERE id = 'm7'")
    check_texts(store, first=ROWS - 1, other=1)
    with store.read() as db:
        query = "SELECT lineage FROM memory WHERE id = 'm7'"
        assert db.execute(query).get == page[7].stamp.hex()
