"""Replicas that hold memories already, and the plain SQLite file that they are compared with."""

from __future__ import annotations

import itertools
import math
import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from pathlib import Path

import apsw
from bench.corpus import Corpus

from satchel.config import Settings
from satchel.memory.visibility import Caller
from satchel.replica import DATABASE_FILE, Replica, open_store
from satchel.store.activity import Activity
from satchel.store.connection import CACHE_KIB, Store
from satchel.store.sql import row_columns
from satchel_sync.changes import Row
from satchel_sync.digest import derived_id
from satchel_sync.tables import MEMORY, Embedding, Memory

FILL_ROWS = 5_000
NAMES = ", ".join(field.name for field in fields(Memory))
MARKS = ", ".join("?" for _ in fields(Memory))
HASH_BYTES = 8 * 1024 * 1024
"""What the index gathers before it writes: as the replica's own index is set."""
TOKENIZER = "porter unicode61 remove_diacritics 2"


def fill(store: Store, memories: Iterable[Memory]) -> None:
    """Insert memories as any SQL would, triggers and all: they wait for the next sync."""
    rest = iter(memories)
    while batch := [astuple(memory) for _, memory in zip(range(FILL_ROWS), rest, strict=False)]:
        with store.write() as db:
            db.execute(f"CREATE TEMP TABLE IF NOT EXISTS filling({NAMES})")
            db.executemany(f"INSERT INTO temp.filling VALUES({MARKS})", batch)
            db.execute(f"INSERT INTO memory({NAMES}) SELECT {NAMES} FROM temp.filling")
            db.execute("DELETE FROM temp.filling")


def stocked(home: Path, count: int, *, seed: int = 1) -> Path:
    """A home whose replica holds `count` memories."""
    with Store.open(home / DATABASE_FILE, durability="process") as store:
        fill(store, Corpus(seed).memories(count))
        with store.write() as db:
            db.execute("ANALYZE")
    return home


def with_vectors(
    home: Path, model_id: str, dims: int, *, seed: int = 1, vectors: Iterator[bytes] | None = None
) -> None:
    """Give each memory that has none a vector of this model: random numbers of length 1."""
    draw = random.Random(seed)
    drawn = vectors or (_unit(draw.randbytes(dims)) for _ in itertools.count())
    columns = ", ".join(field.name for field in fields(Embedding))
    marks = ", ".join("?" for _ in fields(Embedding))
    with Store.open(home / DATABASE_FILE, durability="process") as store:
        with store.read() as db:
            bare = db.execute(
                "SELECT id, text_hash FROM memory AS m WHERE content IS NOT NULL AND NOT EXISTS"
                " (SELECT 1 FROM embedding AS e WHERE e.memory_id = m.id AND e.model = ?)",
                (model_id,),
            ).fetchall()
        for start in range(0, len(bare), FILL_ROWS):
            made = [
                astuple(
                    Embedding(
                        id=derived_id(str(key), model_id, 0),
                        memory_id=str(key),
                        model=model_id,
                        chunk=0,
                        content_hash=str(text_hash),
                        dims=dims,
                        dtype="f32",
                        vector=next(drawn),
                    )
                )
                for key, text_hash in bare[start : start + FILL_ROWS]
            ]
            with store.write() as db:
                db.executemany(f"INSERT INTO embedding({columns}) VALUES({marks})", made)
                db.execute("DELETE FROM embed_queue")


def _unit(drawn: bytes) -> bytes:
    numbers = [byte - 127.5 for byte in drawn]
    length = math.hypot(*numbers)
    return array("f", [number / length for number in numbers]).tobytes()


@contextmanager
def opened(home: Path, *, audited: bool = True, **settings: str) -> Iterator[Replica]:
    """The replica in `home` as its operator; settings as in `Settings`. `audited` as doors do."""
    told = Settings(home=home, user_id="una", **settings)  # type: ignore[arg-type]
    if audited:
        store = open_store(told)
    else:
        store = Store.open(home / DATABASE_FILE, durability=told.durability)
    with Replica(store, told, Caller(None, "una", "operator")) as replica:
        if not audited:
            replica.activity = Activity(home)
        yield replica


class Raw:
    """A plain file with the memory table and its full-text index, and nothing else.

    No triggers, no secondary index, no outbox: what SQLite itself takes for such a row.
    """

    def __init__(self, path: Path, synchronous: str, *, fts: bool = True) -> None:
        """`synchronous` is FULL or NORMAL; the journal is write-ahead, as the replica's is."""
        columns = row_columns(MEMORY)
        self.db = apsw.Connection(str(path))
        for pragma in ("journal_mode = WAL", f"synchronous = {synchronous}"):
            self.db.execute(f"PRAGMA {pragma}")
        self.db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        declared = columns.replace("id,", "id TEXT NOT NULL UNIQUE,", 1)
        self.db.execute(f"CREATE TABLE memory(row INTEGER PRIMARY KEY, {declared})")
        self._insert = (
            f"INSERT INTO memory({columns}) VALUES({', '.join('?' for _ in columns.split(','))})"
        )
        self._index = None
        if fts:
            self.db.execute(
                "CREATE VIRTUAL TABLE memory_fts USING fts5(title, content, aliases,"
                f" content = 'memory', content_rowid = 'row', tokenize = '{TOKENIZER}')"
            )
            self.db.execute(
                f"INSERT INTO memory_fts(memory_fts, rank) VALUES('hashsize', {HASH_BYTES})"
            )
            self._index = (
                "INSERT INTO memory_fts(rowid, title, content, aliases) SELECT row, title,"
                " content, aliases FROM memory WHERE row >= ? ORDER BY row"
            )

    def insert(self, rows: Sequence[Row]) -> None:
        """These rows in one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        first = self.db.execute("SELECT coalesce(max(row), 0) + 1 FROM memory").get
        self.db.executemany(
            self._insert, [(row.key, *row.stamp, row.lineage, *row.values) for row in rows]
        )
        if self._index:
            self.db.execute(self._index, (first,))
        self.db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self.db.close()
