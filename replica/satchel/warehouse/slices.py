"""A slice of a warehouse: candidate rows in a replica without a file, to be searched by its rules.

So there is one ranking, whoever holds the rows. What it asks of all rows the warehouse tells
(`corpus.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.embedding.queue import Turns, drain_batch
from satchel.memory.visibility import Caller
from satchel.replica import Replica, login_name
from satchel.store.activity import Activity
from satchel.store.applying import apply
from satchel.store.in_memory import NOWHERE, InMemoryStore
from satchel.vectors.index import VectorIndex
from satchel.vectors.nearest import compared, stored_chunks
from satchel.vectors.source import SOURCES, Kind, params_of

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.config import Settings
    from satchel.embedding.contract import Embedder
    from satchel.memory.search.corpus import Corpus
    from satchel.ranking.contract import Ranking
    from satchel_sync.row import Row
    from satchel_sync.tables import Table


class FewVectors(VectorIndex):
    """The vectors of few rows: all are compared, no file is made."""

    def __init__(self, ranking: Ranking) -> None:
        """Compare with this engine."""
        super().__init__(NOWHERE, ranking)

    def nearest(
        self,
        db: Connection,
        caller: Caller,
        kind: Kind,
        model_id: str,
        dims: int,
        query: bytes,
        limit: int,
        where: str,
        params: Mapping[str, Any],
    ) -> list[int]:
        """See `VectorIndex`."""
        source, given = SOURCES[kind], {**params, **params_of(model_id, dims)}
        passing = [int(row) for (row,) in db.execute(source.passing(where), given)]
        found = compared(self._ranking, dims, query, stored_chunks(db, source, passing, given))
        best: dict[int, tuple[float, str]] = {}
        for one in found:
            best[one.row] = min(best.get(one.row, (2.0, "")), (-one.cosine, one.key))
        return sorted(best, key=lambda row: best[row])[:limit]

    def notices(self) -> list[str]:
        """See `VectorIndex`: nothing is worth a word."""
        return []


class Remembering:
    """An embedder that makes the vector of each question once, however many ask for it."""

    def __init__(self, engine: Embedder) -> None:
        """All but questions goes to this engine."""
        self._engine = engine
        self._made: dict[str, bytes] = {}
        self.model_id, self.dims, self.window = engine.model_id, engine.dims, engine.window

    def count_tokens(self, text: str) -> int:
        """See `Embedder`."""
        return self._engine.count_tokens(text)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """See `Embedder`."""
        return self._engine.embed_documents(texts)

    def embed_query(self, text: str) -> bytes:
        """See `Embedder`."""
        if text not in self._made:
            self._made[text] = self._engine.embed_query(text)
        return self._made[text]


class NothingGiven(Activity):
    """What this machine was given tells nothing of rows of all machines."""

    def __init__(self) -> None:
        """Nothing is opened."""

    def given_days(self, ids: Sequence[str], now_ms: int) -> Mapping[str, tuple[int, int]]:
        """See `Activity`."""
        return {}

    def close(self) -> None:
        """See `Activity`."""


def slice_of(settings: Settings, corpus: Corpus, embedder: Embedder | None, now_ms: int) -> Replica:
    """An empty replica without a file, whose time is the warehouse's; close it."""
    caller = Caller(None, settings.user_id or login_name(), "operator")
    replica = Replica(InMemoryStore(_Still(now_ms)), settings, caller, given_embedder=embedder)
    replica.__dict__ |= {
        "activity": NothingGiven(),
        "corpus": corpus,
        "vectors": FewVectors(replica.ranking),
    }
    return replica


def fill(replica: Replica, rows: Sequence[tuple[Table, Sequence[Row]]]) -> None:
    """Put rows into a slice, in this order of kinds."""
    with replica.store.write() as db:
        for table, some in rows:
            apply(db, table, some, None, replica.now_ms(), "search")


def give_turn_vectors(
    replica: Replica, embedder: Embedder, made: Sequence[tuple[str, int, int, bytes]]
) -> None:
    """Put in (turn id, view, chunk, vector): no sync brings these."""
    model, dims = embedder.model_id, embedder.dims
    with replica.store.write() as db:
        db.executemany(
            "INSERT INTO turn_vector(turn, model, view, chunk, dims, vector)"
            " SELECT row, ?, ?, ?, ?, ? FROM chatlog WHERE id = ?",
            [(model, view, chunk, dims, vector, key) for key, view, chunk, vector in made],
        )


def embed_turns(replica: Replica, embedder: Embedder, most: int) -> None:
    """Make the vectors of up to so many of the likeliest turns that have none yet."""
    with replica.store.write() as db:
        Turns().sweep(db, [embedder.model_id], replica.now_ms())
        db.execute("DELETE FROM turn_queue WHERE turn IN (SELECT turn FROM turn_vector)")
    drain_batch(replica, [embedder], Turns(), most)


class _Still:
    """A clock that stands."""

    def __init__(self, at_ms: int) -> None:
        self._at_ms = at_ms

    def now_ms(self) -> int:
        return self._at_ms
