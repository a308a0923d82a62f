"""The nearest rows are those of brute force, whatever happened and whoever asks."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vector_world import CALLERS, DIMS, MODELS, World, brute_force, packed

from satchel.memory.lookup import can_see
from satchel.memory.visibility import Caller
from satchel.vectors import VectorIndex

STEPS = 60


@pytest.mark.usefixtures("narrow")
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_nearest_equals_brute_force(engine: str, seed: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        world = World(Path(home), seed, engine)
        others = [VectorIndex(world.home, world.replica.ranking) for _ in range(2)]
        try:
            for _ in range(STEPS):
                world.step()
                if world.random.random() < 0.5:
                    world.check(world.random.choice([*others, None]))
            world.check(times=20)
            for other in others:
                world.check(other, times=5)
        finally:
            world.close()


def test_the_usual_measures_are_right_too(world: World) -> None:
    for _ in range(200):
        world.write()
    world.check(times=40)


def test_a_few_rows_among_many_are_found(world: World) -> None:
    """A filter that leaves next to nothing, by the map of rows."""
    with world.replica.store.write() as db:
        fill(db, 3_000)
        db.execute("UPDATE memory SET type = 'rare' WHERE row % 4 = 0")
    caller = Caller(None, "una")
    for where in ("t.type = 'rare'", "t.row % 500 = 7", "t.row > 5000", "t.id = 'k000001'"):
        for limit in (1, 10, 900):
            asked = ("memory", MODELS[0], DIMS, packed([1, 2, 3, 4, 5, 6]), limit, where, {})
            with world.replica.store.read() as db:
                found = world.replica.vectors.nearest(db, caller, *asked)
                assert found == brute_force(db, *asked), (where, limit)


def test_rows_numbered_by_hand_are_found(world: World) -> None:
    with world.replica.store.write() as db:
        fill(db, 2_000)
        numbers = (-1, -7, 1 << 40, (1 << 62) + 3)
        for number in numbers:
            vector = packed([1, 2, 3, 4, 5, 6 + number % 5])
            db.execute(
                "INSERT INTO memory(row, id, content, text_hash, scope)"
                " VALUES(?, ?, 'x', 'h', 'org')",
                (number, f"by hand {number}"),
            )
            db.execute(
                "INSERT INTO embedding(row, id, memory_id, model, chunk, content_hash, dims, dtype,"
                " vector) VALUES(?, ?, ?, ?, 0, 'h', ?, 'f32', ?)",
                (number, f"v{number}", f"by hand {number}", MODELS[0], DIMS, vector),
            )
    for where in ("1", "t.id LIKE 'by hand%' OR t.row % 3 = 0", "t.id LIKE 'by hand%'"):
        asked = ("memory", MODELS[0], DIMS, packed([1, 2, 3, 4, 5, 6]), 20, where, {})
        with world.replica.store.read() as db:
            found = world.replica.vectors.nearest(db, Caller(None, "una"), *asked)
            assert found == brute_force(db, *asked)
            assert set(numbers) <= set(found)
    with world.replica.store.write() as db:
        db.execute("DELETE FROM embedding WHERE row < 0")
    world.check(times=3)
    with world.replica.store.read() as db:
        found = world.replica.vectors.nearest(db, Caller(None, "una"), *asked)
    assert found == [row for row in found if row > 0] != []


def test_nothing_that_a_caller_may_not_see_is_scanned(world: World) -> None:
    """Not even where the predicate lets all through: the groups keep hidden rows out."""
    for _ in range(100):
        world.write()
    for caller in CALLERS:
        with world.replica.store.read() as db:
            rule = f"SELECT t.row FROM memory AS t WHERE {can_see(caller, 'memory')}"
            visible = {row for (row,) in db.execute(rule, caller.params)}
            given = world.replica.vectors.nearest(
                db, caller, "memory", MODELS[0], DIMS, packed([1] * DIMS), 1_000, "1", {}
            )
            assert set(given) <= visible
    assert given


def test_two_models_of_one_file_name_do_not_meet(world: World) -> None:
    models = ("a b", "a/b")
    with world.replica.store.write() as db:
        fill(db, 10, model=models[0])
        fill(db, 20, model=models[1], first=10)
    for model, rows in zip(models, (10, 20), strict=True):
        with world.replica.store.read() as db:
            found = world.replica.vectors.nearest(
                db, CALLERS[0], "memory", model, DIMS, packed([1] * DIMS), 100, "1", {}
            )
        assert len(found) == rows
    assert len(list((world.home / "vectors").glob("*.vec"))) == 2


def test_cosines_are_of_the_best_chunk_of_the_present_text(world: World) -> None:
    query = packed([1, 0, 0, 0, 0, 0])
    with world.replica.store.write() as db:
        for key in ("k000000", "k000001", "k000002"):
            db.execute("INSERT INTO memory(id, text_hash) VALUES(?, 'h')", (key,))
        for chunk, first in enumerate((0.2, 0.9, -0.5)):
            add_vector(db, "k000000", chunk, [first, 1, 0, 0, 0, 0])
        add_vector(db, "k000001", 0, [1, 0, 0, 0, 0, 0])
        db.execute("UPDATE memory SET text_hash = 'new' WHERE id = 'k000001'")
        rows = [row for (row,) in db.execute("SELECT row FROM memory ORDER BY id")]
    with world.replica.store.read() as db:
        asked = (db, "memory", MODELS[0], DIMS, query, rows)
        found = world.replica.vectors.chunks(*asked)
        assert list(found) == [rows[0]]
        assert found[rows[0]].cosine == round(0.9 / 1.81**0.5, 6)
        assert found[rows[0]].vector == packed([0.9, 1, 0, 0, 0, 0])
        assert world.replica.vectors.chunks(*asked[:-1], []) == {}


def test_a_turn_alone_has_a_cosine_of_its_own(world: World) -> None:
    query = packed([1, 0, 0, 0, 0, 0])
    views = {"both": ((0, 0.5), (0, 0.1), (1, 0.9)), "alone": ((1, 0.3),), "within": ((0, 0.2),)}
    with world.replica.store.write() as db:
        for key, vectors in views.items():
            db.execute("INSERT INTO chatlog(id, content) VALUES(?, 'x')", (key,))
            row = db.last_insert_rowid()
            for chunk, (view, first) in enumerate(vectors):
                rest = (1 - first**2) ** 0.5
                db.execute(
                    "INSERT INTO turn_vector(turn, model, view, chunk, dims, vector)"
                    " VALUES(?, ?, ?, ?, ?, ?)",
                    (row, MODELS[0], view, chunk, DIMS, packed([first, rest, 0, 0, 0, 0])),
                )
    with world.replica.store.read() as db:
        names = dict(db.execute("SELECT row, id FROM chatlog").fetchall())
        asked = (db, "chatlog", MODELS[0], DIMS, query, list(names))
        found = world.replica.vectors.chunks(*asked)
        near = world.replica.vectors.nearest(
            db, CALLERS[0], "chatlog", MODELS[0], DIMS, query, 5, "1", {}
        )
    assert {names[row]: (one.cosine, one.alone) for row, one in found.items()} == {
        "both": (0.5, 0.9),
        "alone": (0.3, 0.3),
        "within": (0.2, None),
    }
    assert [names[row] for row in near] == ["both", "alone", "within"]


def test_an_empty_store_has_no_nearest(world: World) -> None:
    world.check(times=5)


def fill(db: object, count: int, *, model: str = MODELS[0], first: int = 0) -> None:
    """So many memories of everyone, with one vector each."""
    source = random.Random(count)
    for number in range(first, first + count):
        db.execute(  # type: ignore[attr-defined]
            "INSERT INTO memory(id, content, text_hash, scope) VALUES(?, ?, 'h', 'org')",
            (f"k{number:06}", f"text {number}"),
        )
        vector = [source.gauss(0, 1) for _ in range(DIMS)]
        add_vector(db, f"k{number:06}", 0, vector, model=model)


def add_vector(
    db: object, key: str, chunk: int, numbers: list[float], *, model: str = MODELS[0]
) -> None:
    db.execute(  # type: ignore[attr-defined]
        "INSERT INTO embedding(id, memory_id, model, chunk, content_hash, dims, dtype, vector)"
        " VALUES(?, ?, ?, ?, 'h', ?, 'f32', ?)",
        (f"{key} {model} {chunk}", key, model, chunk, DIMS, packed(numbers)),
    )
