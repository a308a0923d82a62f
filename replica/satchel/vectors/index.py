"""The vectors of one replica: nearest rows and exact cosines, whoever wrote them, whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.store import identity
from satchel.vectors.following import Follower
from satchel.vectors.nearest import (
    Question,
    RowChunk,
    Stale,
    StoredChunk,
    compared,
    nearest,
    stored_chunks,
)
from satchel.vectors.place import Place
from satchel.vectors.source import SOURCES, Kind, params_of

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.ranking.contract import Ranking


TRIES = 4
"""A file that another one writes to while it is scanned is scanned again, a few times."""


class Chunk(NamedTuple):
    """The chunk of a row that is most similar to the question, in its context where that is known.

    `alone` is the cosine of the row without what was said before it, None where there is none.
    """

    cosine: float
    vector: bytes
    alone: float | None = None


class VectorIndex:
    """Vectors by kind and model, each a file in the home that follows the database by itself.

    Any thread may ask. The files are never the truth: delete them and they are made again.
    """

    def __init__(self, home: Path, ranking: Ranking) -> None:
        """Nothing is opened before the first question."""
        self._home, self._ranking = home, ranking
        self._replica_id = b""
        self._followers: dict[tuple[str, str, int], Follower] = {}
        self._lock = threading.Lock()

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
        """Row numbers (`t.row`) for which `where` holds, most similar best chunk first, each once.

        `db` is in a transaction; `where` is SQL over `t` with the named `params`, visibility
        included; `query` is `dims` little-endian float32 numbers. Equal cosines come by id.
        """
        given = {**params, **params_of(model_id, dims)}
        asked = Question(db, caller, SOURCES[kind], self._ranking, dims, query, limit, where, given)
        with self._lock:
            follower = self._follower(db, kind, model_id, dims)
        for tries in range(TRIES):
            with self._lock:
                held = follower.current(db)
            try:
                found = nearest(asked, held, sound=tries < TRIES - 1)
            except Stale as fault:
                with self._lock:
                    if not follower.is_written(held):
                        follower.rebuild(db, bad=held, reason=str(fault))
            else:
                if tries == TRIES - 1 or not follower.is_written(held):
                    return found
        raise AssertionError("the last try is content with what it finds")

    def chunks(
        self,
        db: Connection,
        kind: Kind,
        model_id: str,
        dims: int,
        query: bytes,
        rows: Sequence[int],
    ) -> dict[int, Chunk]:
        """The best chunk of each of these rows, from the database; rows without are left out.

        A cosine is exact, rounded to 1e-6; only vectors of the row's present text count.
        """
        return self.compared(dims, query, self.stored(db, kind, model_id, dims, rows))

    def stored(
        self, db: Connection, kind: Kind, model_id: str, dims: int, rows: Sequence[int]
    ) -> list[StoredChunk]:
        """All chunks of these rows: what `chunks` reads, and no question is needed for."""
        return stored_chunks(db, SOURCES[kind], rows, params_of(model_id, dims))

    def compared(self, dims: int, query: bytes, stored: Sequence[StoredChunk]) -> dict[int, Chunk]:
        """The best of these chunks by row."""
        return _best(compared(self._ranking, dims, query, stored))

    def notices(self) -> list[str]:
        """Why vectors are held in memory, where they are."""
        with self._lock:
            said = {follower.notice for follower in self._followers.values()}
        return sorted(notice for notice in said if notice)

    def _follower(self, db: Connection, kind: str, model_id: str, dims: int) -> Follower:
        """Another process may have given the replica a new id: its vector files are others then."""
        replica_id = identity.load(db)
        if replica_id != self._replica_id:
            self._followers.clear()
            self._replica_id = replica_id
        key = (kind, model_id, dims)
        if key not in self._followers:
            place = Place(self._home, replica_id, kind, model_id, dims)
            self._followers[key] = Follower(place, SOURCES[kind], model_id, self._ranking)
        return self._followers[key]


def _best(found: Sequence[RowChunk]) -> dict[int, Chunk]:
    """The best of each row: of its view with context, else of the row alone."""
    within: dict[int, RowChunk] = {}
    alone: dict[int, RowChunk] = {}
    for chunk in found:
        view = alone if chunk.view else within
        if chunk.row not in view or chunk.cosine > view[chunk.row].cosine:
            view[chunk.row] = chunk
    best = {row: Chunk(one.cosine, one.vector, one.cosine) for row, one in alone.items()}
    for row, one in within.items():
        lone = alone.get(row)
        best[row] = Chunk(one.cosine, one.vector, lone.cosine if lone else None)
    return best
