"""What is logged and queued, whoever writes: the engine, a sync, a hand with `sqlite3`."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest
from fix_memory import opened
from vector_world import DIMS, MODELS, World, packed

from satchel.memory import chatlog
from satchel.replica import DATABASE_FILE, Replica
from satchel.store import identity, migrate, rows
from satchel.store.connection import Store
from satchel.store.embedded_text import content_hash
from satchel_sync.tables import CHATLOG

BY_HAND = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
db.execute(f"PRAGMA recursive_triggers = {sys.argv[2]}")
db.executescript(sys.argv[3])
db.close()
"""
WRITES = {
    "everyone's": "UPDATE memory SET scope = 'org'",
    "an agent's": "UPDATE memory SET scope = 'agent', agent_id = 'bob' WHERE row < 9",
    "deleted": "DELETE FROM memory WHERE row % 2",
    "vectors deleted": "DELETE FROM embedding WHERE row % 2",
    "other text": "UPDATE memory SET content = 'x' WHERE row % 2",
    "zeros": "UPDATE embedding SET vector = zeroblob(24) WHERE row % 2",
    "another model": "UPDATE embedding SET model = 'small@1'",
    "another memory's": """UPDATE embedding
        SET memory_id = (SELECT id FROM memory WHERE row = 3) WHERE row = 5""",
    "memories replaced": """INSERT OR REPLACE INTO memory(id, content_hash, scope)
        SELECT id, content_hash, 'org' FROM memory WHERE row % 2""",
    "vectors replaced": """INSERT OR REPLACE
        INTO embedding(id, memory_id, model, chunk, content_hash, dims, dtype, vector)
        SELECT id, memory_id, model, chunk, content_hash, dims, dtype,
        x'000080bf' || substr(vector, 5) FROM embedding""",
    "really deleted": """UPDATE control SET applying = 1;
        DELETE FROM embedding WHERE row > 30; DELETE FROM memory WHERE row > 20;
        UPDATE control SET applying = 0""",
    "turns' vectors deleted": "DELETE FROM turn_vector WHERE row % 2",
    "turns' vectors replaced": "INSERT OR REPLACE INTO turn_vector SELECT * FROM turn_vector",
    "turns' vectors renumbered": "UPDATE turn_vector SET row = row + 1000",
    "turns moved": "UPDATE chatlog SET conversation_id = 'elsewhere'",
    "turns replaced": """INSERT OR REPLACE INTO chatlog(id, content, scope)
        SELECT id, content, 'org' FROM chatlog WHERE row % 2""",
    "turns really deleted": """UPDATE control SET applying = 1;
        DELETE FROM chatlog WHERE row > 5; UPDATE control SET applying = 0""",
}


def by_hand(home: Path, script: str, recursive: int = 0) -> None:
    """Python's own SQLite, in another process: two libraries do not see each other's locks."""
    command = [sys.executable, "-c", BY_HAND, home / DATABASE_FILE, str(recursive), script]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("recursive", [0, 1], ids=["plain", "recursive_triggers"])
@pytest.mark.parametrize("script", WRITES.values(), ids=WRITES)
def test_a_write_by_hand_is_seen(script: str, recursive: int, tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(25):
        world.write()
        world.say()
    world.check(times=10)
    by_hand(tmp_path, script, recursive)
    world.check(times=25)
    world.write()
    world.say()
    world.check(times=10)
    world.close()


@pytest.fixture
def replica(tmp_path: Path) -> Any:
    with opened(tmp_path, embedding="off") as found:
        yield found


def queue(replica: Replica) -> list[str]:
    """Content of the turns that want a vector; then nothing wants one, and all have one."""
    with replica.store.write() as db:
        found = db.execute(
            "SELECT row, content FROM turn_queue JOIN chatlog ON row = turn ORDER BY ordinal, id"
        ).fetchall()
        for row, _ in found:
            db.execute(
                "INSERT OR REPLACE INTO turn_vector(turn, model, chunk, dims, vector)"
                " VALUES(?, ?, 0, ?, ?)",
                (row, MODELS[0], DIMS, packed([1] * DIMS)),
            )
        db.execute("DELETE FROM turn_queue")
    return [content for _, content in found]


def have_vectors(replica: Replica) -> list[str]:
    sql = "SELECT content FROM turn_vector JOIN chatlog AS t ON t.row = turn ORDER BY ordinal"
    with replica.store.read() as db:
        return [content for (content,) in db.execute(sql)]


def say(replica: Replica, content: str, ordinal: int, conversation: str = "talk") -> str:
    return str(chatlog.write(replica, conversation, content, ordinal=ordinal)["id"])


def test_a_turn_and_the_one_behind_it_are_queued(replica: Replica) -> None:
    first, third = say(replica, "first", 1), say(replica, "third", 3)
    say(replica, "elsewhere", 2, "another talk")
    assert queue(replica) == ["first", "elsewhere", "third"]
    second = say(replica, "second", 2)
    assert have_vectors(replica) == ["first", "elsewhere"]
    assert queue(replica) == ["second", "third"]
    with replica.store.write() as db:
        rows.update(db, CHATLOG, second, content="2nd")
    assert queue(replica) == ["2nd", "third"]
    with replica.store.write() as db:
        rows.update(db, CHATLOG, second, model="tokens and such do not matter")
    assert queue(replica) == []
    with replica.store.write() as db:
        rows.update(db, CHATLOG, first, ordinal=9)
    assert queue(replica) == ["2nd", "first"]
    with replica.store.write() as db:
        held = rows.get(db, CHATLOG, second)
        rows.delete(db, CHATLOG, second)
    assert have_vectors(replica) == ["elsewhere", "first"]
    assert queue(replica) == ["third"]
    with replica.store.write() as db:
        rows.insert(db, replace(held, content="back"))
    assert queue(replica) == ["back", "third"]
    with replica.store.write() as db:
        rows.update(db, CHATLOG, third, role="una")
    assert queue(replica) == ["third", "first"]
    with replica.store.write() as db:
        rows.update(db, CHATLOG, third, scope="org")
    assert queue(replica) == ["third", "first"]
    with replica.store.write() as db:
        rows.update(db, CHATLOG, third, content="of an owner of its own")
    assert queue(replica) == ["of an owner of its own"]


def test_a_number_that_is_given_again_brings_no_old_vector(replica: Replica) -> None:
    say(replica, "old", 1)
    queue(replica)
    with replica.store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("DELETE FROM chatlog")
        db.execute("UPDATE control SET applying = 0")
    say(replica, "new", 1)
    assert have_vectors(replica) == []
    assert queue(replica) == ["new"]


def test_replaced_numbers_are_known_for_a_while(tmp_path: Path) -> None:
    world = World(tmp_path)
    key = world.write()
    known = "SELECT count(*) FROM vector_change WHERE source >= 2"
    for _ in range(3_000):
        with world.replica.store.write() as db:
            db.execute("UPDATE embedding SET vector = randomblob(24) WHERE memory_id = ?", (key,))
            left: Any = db.execute(known).get
    assert 1_000 < left < 8_000
    world.close()


def test_an_older_file_gets_its_log_and_its_queue(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    with closing(apsw.Connection(str(path))) as db:
        (number, script), *_ = migrate.scripts()
        db.execute(script)
        identity.make(db)
        db.execute(f"PRAGMA application_id = {migrate.APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {number}")
        vector = packed([1, 2, 3, 4, 5, 6])
        living = 1 << 16
        for key in ("a", "b"):
            db.execute(
                "INSERT INTO memory(id, content, content_hash, scope, life)"
                " VALUES(?, 'x', 'h', 'org', ?)",
                (key, living),
            )
            db.execute(
                "INSERT INTO embedding(id, memory_id, model, chunk, content_hash, dims, dtype,"
                " vector, life) VALUES(?, ?, ?, 0, 'h', ?, 'f32', ?, ?)",
                (key, key, MODELS[0], DIMS, vector, living),
            )
        for content, life in (("living", living), (None, living), ("dead", 2 * living)):
            db.execute(
                "INSERT INTO chatlog(id, content, life) VALUES(?, ?, ?)",
                (f"t {content}", content, life),
            )
    with Store.open(path) as store, store.read() as db:
        logged = db.execute(
            "SELECT row, seq FROM vector_change WHERE source = 0 ORDER BY row"
        ).fetchall()
        queued = db.execute("SELECT content FROM turn_queue JOIN chatlog ON row = turn").fetchall()
        hashes = db.execute("SELECT DISTINCT text_hash FROM memory").fetchall()
    assert hashes == [(content_hash("x"),)]
    assert [row for row, _ in logged] == [1, 2]
    assert logged[0][1] < logged[1][1]
    assert queued == [("living",)]
    world = World(tmp_path)
    world.check(times=10)
    world.close()
