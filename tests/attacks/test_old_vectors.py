"""A vector counts for the text it was made of, whoever changes that: a hand, here or at the hub."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_memory import TrigramEmbedder, settings

from satchel import peers
from satchel.config import Settings
from satchel.embedding import is_quick, queue
from satchel.embedding.models import find_model
from satchel.memory.search.search import search
from satchel.memory.text import content_hash
from satchel.memory.write import write
from satchel.replica import Replica

TEXTS = {
    "content": "photosynthesis",
    "title": "photosynthesis",
    "aliases": '["photosynthesis"]',
}
OTHERS = {
    "content": "quarterly revenue",
    "title": "quarterly revenue",
    "aliases": '["quarterly revenue"]',
}


def equipped(machine: Machine) -> Replica:
    """The machine's replica with an embedder that is warm."""
    told = settings(machine.store.home)
    return replace(machine.replica, given_embedder=TrigramEmbedder(), settings=told)


def unequipped(machine: Machine) -> Replica:
    """The machine's replica, which embeds nothing."""
    return replace(machine.replica, settings=settings(machine.store.home, embedding="off"))


def put(replica: Replica, column: str) -> str:
    """A memory that says `photosynthesis` in one column, and a few others that do not."""
    for word in ("kernel panic", "lunch at noon"):
        write(replica, word, scope="org")
    given = {"content": "xx", "title": None, "aliases": None} | {column: TEXTS[column]}
    names = ["photosynthesis"] if given["aliases"] else None
    return write(
        replica, str(given["content"]), title=given["title"], aliases=names, scope="org"
    ).id


def by_hand(machine: Machine, statement: str) -> None:
    """Run a statement under Python's own SQLite, which must be in another process."""
    script = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]);"
    command = [sys.executable, "-c", script + "db.commit()", str(machine.store.path), statement]
    subprocess.run(command, check=True)


def nearness(replica: Replica, key: str, query: str) -> float | None:
    """The cosine of a memory with a question, None while it has no vector that counts."""
    embedder = replica.embedder
    assert embedder is not None
    with replica.store.read() as db:
        row = db.execute("SELECT row FROM memory WHERE id = ?", (key,)).get
        found = replica.vectors.chunks(
            db, "memory", embedder.model_id, embedder.dims, embedder.embed_query(query), [row]
        )
        near = replica.vectors.nearest(
            db, replica.caller, "memory", embedder.model_id, embedder.dims,
            embedder.embed_query(query), 9, "1", {},
        )  # fmt: skip
    assert (row in found) == (row in near)
    return found[row].cosine if row in found else None


def queued(machine: Machine) -> list[str]:
    return [key for (key,) in machine.sql("SELECT memory_id FROM embed_queue ORDER BY 1")]


def vectors(machine: Machine, key: str) -> list[bytes]:
    where = "memory_id = ? AND vector IS NOT NULL"
    return [one for (one,) in machine.sql(f"SELECT vector FROM embedding WHERE {where}", key)]


@pytest.mark.parametrize("column", TEXTS)
@pytest.mark.parametrize("local", [False, True], ids=["synced", "local"])
def test_a_text_changed_by_hand_is_embedded_anew(fleet: Fleet, column: str, local: bool) -> None:
    a = fleet.machine("a")
    replica = equipped(a)
    key = put(replica, column)
    if local:
        other = write(replica, "yy photosynthesis", local=True, scope="user").id
        column, key = "content", other
    old = nearness(replica, key, "photosynthesis")
    assert old is not None
    by_hand(a, f"UPDATE memory SET {column} = '{OTHERS[column]}' WHERE id = '{key}'")
    assert nearness(replica, key, "photosynthesis") is None
    assert queue.drain(replica).done == 1
    assert queue.drain(replica).done == 0
    new = nearness(replica, key, "photosynthesis")
    assert new is not None
    assert new < old
    assert (nearness(replica, key, "quarterly revenue") or 0) > old / 2
    ((content, held),) = a.sql("SELECT content, content_hash FROM memory WHERE id = ?", key)
    assert held == content_hash(content)


def test_other_columns_leave_the_vector_alone(fleet: Fleet) -> None:
    a = fleet.machine("a")
    replica = equipped(a)
    key = put(replica, "title")
    before = nearness(replica, key, "photosynthesis")
    by_hand(a, f"UPDATE memory SET importance = 1, title = title WHERE id = '{key}'")
    by_hand(a, "UPDATE memory SET pinned = 1")
    assert nearness(replica, key, "photosynthesis") == before
    assert queue.drain(replica).done == 0


@pytest.mark.parametrize("column", TEXTS)
def test_a_text_changed_at_the_hub_is_embedded_anew_once(
    fleet: Fleet, hub_world: HubWorld, column: str
) -> None:
    a, b = fleet.pair()
    one, two = equipped(a), equipped(b)
    key = put(one, column)
    fleet.quiet()
    assert queued(b) == []
    assert nearness(two, key, "photosynthesis") == nearness(one, key, "photosynthesis")
    hub_world.psql().execute(
        f"UPDATE satchel.memory SET {column} = %s WHERE id = %s",
        (OTHERS[column], key),
    )
    a.sync()
    assert queued(a) == [key]
    assert nearness(one, key, "photosynthesis") is None
    assert queue.drain(one).done == 1
    a.sync()
    b.sync()
    assert queued(b) == []
    assert vectors(b, key) == vectors(a, key)
    assert queue.drain(two).done == 0
    assert nearness(two, key, "quarterly revenue") == nearness(one, key, "quarterly revenue")
    fresh = fleet.machine("c")
    fresh.sync()
    assert queue.drain(equipped(fresh)).done == 0
    fleet.quiet()


def test_a_late_vector_of_the_old_text_does_not_count(fleet: Fleet, hub_world: HubWorld) -> None:
    """A machine that embeds the old text after the change was made, with the highest stamp."""
    a, b = fleet.pair()
    key = write(unequipped(a), "xx", title="photosynthesis", scope="org").id
    fleet.quiet()
    hub_world.psql().execute(
        "UPDATE satchel.memory SET title = 'quarterly revenue' WHERE id = %s", (key,)
    )
    a.sync()
    queue.drain(equipped(a))
    a.sync()
    b.clock.at_ms += 60_000
    assert queue.drain(equipped(b)).done == 1
    b.sync()
    a.sync()
    assert nearness(equipped(b), key, "photosynthesis") is None
    queue.drain(equipped(b))
    fleet.quiet()
    for machine in (a, b):
        assert queue.drain(equipped(machine)).done == 0
        assert nearness(equipped(machine), key, "quarterly revenue")


@pytest.mark.parametrize("damage", ["x'ff'", "CAST(x'61EDA080' AS TEXT)", "''", "' '"])
@pytest.mark.parametrize("column", TEXTS)
def test_what_is_no_text_stops_no_drain(fleet: Fleet, column: str, damage: str) -> None:
    a = fleet.machine("a")
    replica = equipped(a)
    key = put(replica, column)
    other = write(unequipped(a), "photosynthesis, later").id
    by_hand(a, f"UPDATE memory SET {column} = {damage} WHERE id = '{key}'")
    queue.drain(replica)
    again = queue.drain(replica)
    assert (again.done, again.left) == (0, 0)
    assert nearness(replica, other, "photosynthesis, later")
    if column == "content":
        assert nearness(replica, key, "photosynthesis") is None


def test_a_text_deleted_and_restored_or_replaced_by_hand(fleet: Fleet) -> None:
    a = fleet.machine("a")
    replica = equipped(a)
    key = put(replica, "title")
    names = ", ".join(
        name for (name,) in a.sql("SELECT name FROM pragma_table_info('memory')")
        if name not in ("row", "text_hash", "life", "hlc", "origin", "digest", "lineage")
    )  # fmt: skip
    by_hand(a, f"INSERT OR REPLACE INTO memory({names}) SELECT {names} FROM memory")
    assert queue.drain(replica).done == 0
    assert nearness(replica, key, "photosynthesis")
    by_hand(a, f"DELETE FROM memory WHERE id = '{key}'")
    assert nearness(replica, key, "photosynthesis") is None
    by_hand(a, f"INSERT OR REPLACE INTO memory(id, content, scope) VALUES('{key}', 'new', 'org')")
    assert nearness(replica, key, "photosynthesis") is None
    assert queue.drain(replica).done == 1
    assert search(replica, "new").hits


def pulled_without_a_vector(fleet: Fleet) -> tuple[Machine, Settings]:
    """A machine that has pulled a text without a vector, and its settings with an engine."""
    a, b = fleet.pair()
    write(unequipped(a), "photosynthesis", scope="org")
    a.sync()
    told = settings(b.store.home, warehouse_dsn=fleet.world.login())
    off = peers.sync_once(replace(told, embedding="off"))
    assert (off["exit"], off["embedding"]) == (0, {"done": 0, "left": 1})
    if not is_quick(told):
        pytest.skip("no engine that loads quickly is installed")
    return b, told


def test_a_sync_embeds_what_it_brought(fleet: Fleet) -> None:
    machine, told = pulled_without_a_vector(fleet)
    shown: list[tuple[Any, ...]] = []
    report = peers.sync_once(told, progress=lambda *step: shown.append(step))
    assert (report["exit"], report["embedding"]) == (0, {"done": 1, "left": 0})
    assert report["pending"] == 1
    assert queued(machine) == []
    assert ("embedding", "texts", 1, 1) in shown
    assert peers.sync_once(told)["pending"] == 0


def test_an_engine_that_fails_fails_no_sync(fleet: Fleet, tmp_path: Path) -> None:
    machine, told = pulled_without_a_vector(fleet)
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in find_model(None).folder.iterdir():
        if file.name == "model.safetensors":
            (broken / file.name).write_bytes(b"no weights")
        else:
            (broken / file.name).symlink_to(file)
    report = peers.sync_once(replace(told, model=str(broken)))
    assert (report["exit"], report["embedding"]["done"], report["embedding"]["left"]) == (0, 0, 1)
    assert report["embedding"]["error"].startswith("engine_unavailable: ")
    assert len(queued(machine)) == 1
