"""Homes full of vectors, random or clustered, made faster than by writing memories one by one."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from operator import add
from pathlib import Path

from satchel.replica import DATABASE_FILE
from satchel.store.connection import Store
from satchel.store.triggers import statements

DIMS = 384
MODEL = "bench@000000000000"
CLUSTERS = 200
AGENTS = 100
FILL_ROWS = 10_000
LIVING = 1 << 16


class Vectors:
    """An endless, repeatable stream of vectors: any direction, or around `CLUSTERS` centres."""

    def __init__(self, clustered: bool, seed: int = 1) -> None:
        """The centres are the same whatever the seed."""
        of_centres = random.Random(384)
        self._centres = [_drawn(of_centres) for _ in range(CLUSTERS)] if clustered else []
        self._random = random.Random(seed)

    def __iter__(self) -> Iterator[bytes]:
        """`DIMS` float32 numbers each, of no certain length."""
        while True:
            yield array("f", self.numbers()).tobytes()

    def numbers(self) -> list[int]:
        """One vector as whole numbers: noise, added to a centre where there are any."""
        noise = _drawn(self._random)
        if not self._centres:
            return noise
        return list(map(add, self._random.choice(self._centres), noise))


def _drawn(source: random.Random) -> list[int]:
    return array("b", source.randbytes(DIMS)).tolist()


def stocked_with_vectors(home: Path, count: int, clustered: bool) -> Path:
    """A home of `count` short memories of `AGENTS` agents, each with a vector.

    They are put in below the triggers, with what the triggers would have left; no full-text index.
    """
    with Store.open(home / DATABASE_FILE, durability="process") as store, store.write() as db:
        for (name,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        vectors = iter(Vectors(clustered))
        for first in range(1, count + 1, FILL_ROWS):
            rows = range(first, min(first + FILL_ROWS, count + 1))
            db.executemany(
                "INSERT INTO memory(row, id, type, content, text_hash, scope, agent_id,"
                " recorded_at, valid_from, life, hlc, origin, digest, lineage)"
                " VALUES(?, ?, ?, 'of the bench', 'h', 'agent', ?, 0, 0, ?, 1, x'00', x'00', '')",
                (
                    (row, f"m{row:07}", ("note", "fact")[row % 2], f"a{row % AGENTS}", LIVING)
                    for row in rows
                ),
            )
            db.executemany(
                "INSERT INTO embedding(row, id, memory_id, model, chunk, content_hash, dims, dtype,"
                " vector, life, hlc, origin, digest, lineage)"
                " VALUES(?, ?, ?, ?, 0, 'h', ?, 'f32', ?, ?, 1, x'00', x'00', '')",
                (
                    (row, f"e{row:07}", f"m{row:07}", MODEL, DIMS, next(vectors), LIVING)
                    for row in rows
                ),
            )
        db.execute("INSERT INTO vector_change SELECT 0, row, row FROM embedding")
        for statement in statements():
            db.execute(statement)
        db.execute("ANALYZE")
    return home
