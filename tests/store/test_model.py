"""Random writes by SQL on the real store, beside the replica in memory: the same versions."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from machine import NOON_MS, Clock, held

from satchel.store import rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.stamp import next_generation
from satchel_sync.tables import TASK

Step = tuple[str, str, str | None, str | None]

PUT = {
    "insert": "INSERT OR IGNORE INTO task(id, title, status) VALUES(?1, ?2, ?3)",
    "replace": "INSERT OR REPLACE INTO task(id, title, status) VALUES(?1, ?2, ?3)",
    "upsert": "INSERT INTO task(id, title, status) VALUES(?1, ?2, ?3) ON CONFLICT(id)"
    " DO UPDATE SET title = excluded.title, status = excluded.status",
    "update": "UPDATE task SET title = ?2, status = ?3 WHERE id = ?1",
    "update or replace": "UPDATE OR REPLACE task SET title = ?2, status = ?3 WHERE id = ?1",
}
steps = st.tuples(
    st.sampled_from([*PUT, "delete", "sync"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, "one", "two"]),
    st.sampled_from([None, "pending", "completed", "failed"]),
)


def values(title: str | None, status: str | None) -> tuple[Any, ...]:
    by_name = {"title": title, "status": status}
    return (*(by_name.get(name) for name in TASK.names), None)


def on_model(model: MemoryReplica, step: Step) -> None:
    """What a write means, said with `put` and `delete`."""
    verb, key, title, status = step
    kept = model.kinds["task"].rows.get(key)
    content = values(title, status)
    if verb == "delete":
        if kept is not None:
            model.delete(TASK, key)
    elif kept is None:
        if not verb.startswith("update"):
            model.put(TASK, key, content)
    elif verb == "insert":
        return
    elif kept.stamp.dead:
        # A restore keeps the count of ends, as at the hub; only REPLACE restores an empty row.
        if kept.values != content or verb == "replace":
            model._stamp(TASK, key, content, next_generation(kept.stamp.life))
    else:
        model.put(TASK, key, content)


def on_store(store: Store, step: Step) -> None:
    verb, key, title, status = step
    with store.write() as db:
        if verb == "delete":
            db.execute("DELETE FROM task WHERE id = ?", (key,))
        else:
            db.execute(PUT[verb], (key, title, status))


def sync(replica: SqliteReplica | MemoryReplica) -> None:
    """A hub takes whatever is sent."""
    while batch := replica.outgoing(TASK, 0, replica.outbox_end()):
        answer = PushAnswer(tuple(row.key for row in batch.rows), now_ms=NOON_MS)
        replica.settle(TASK, batch.rows, answer, 0)


def check_same(store: Store, model: MemoryReplica, written: Sequence[Step]) -> None:
    with store.read() as db:
        keys = {str(key) for (key,) in db.execute("SELECT id FROM task")}
        queued = {str(key) for (key,) in db.execute("SELECT key FROM outbox WHERE kind = 'task'")}
        assert all(rows.get(db, TASK, key, dead=True) is not None for key in keys)
    kept = model.kinds["task"]
    assert keys == kept.rows.keys(), written
    assert queued == kept.outbox.keys(), written
    for key in keys:
        mine, theirs = held(store, key, TASK), kept.rows[key]
        assert mine.values == theirs.values, written
        # Clocks tick alike only where both write the same kinds: history draws stamps of its own.
        assert mine.stamp.life == theirs.stamp.life, written
        assert mine.stamp.digest == theirs.stamp.digest, written
        assert len(mine.lineage) == len(theirs.lineage), written


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=25), st.booleans())
def test_every_write_means_what_the_model_says(written: list[Step], recursive: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        path = Path(folder) / "satchel.db"
        with Store.open(path, durability="process", clock=clock) as store:
            with store.read() as db:
                pass
            db.execute(f"PRAGMA recursive_triggers = {int(recursive)}")
            model, replica = MemoryReplica(store.replica_id, clock), SqliteReplica(store)
            for step in written:
                clock.ms += 1
                if step[0] == "sync":
                    sync(replica)
                    sync(model)
                else:
                    on_store(store, step)
                    on_model(model, step)
            check_same(store, model, written)
            with store.write() as db:
                assert db.execute("PRAGMA integrity_check").get == "ok"
