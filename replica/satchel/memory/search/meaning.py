"""The vector side of one question: who is near, and how near exactly."""

from __future__ import annotations

import _thread
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from satchel.errors import EngineUnavailable
from satchel.memory.search.sources import Source

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.embedding.contract import Embedder
    from satchel.replica import Replica
    from satchel.vectors.index import Chunk
    from satchel.vectors.nearest import StoredChunk
    from satchel.vectors.source import Kind


class Meaning:
    """A question's vector, and the index of the vectors of one model.

    The model runs beside the search by keyword; who first needs the vector waits for it.
    """

    def __init__(self, replica: Replica, db: Connection, embedder: Embedder, text: str) -> None:
        """Begin to embed `text`."""
        self._replica, self._db, self._embedder, self._text = replica, db, embedder, text
        self._made: bytes | BaseException = b""
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        # Not `threading.Thread`: its `start` waits until the new thread runs.
        try:
            _thread.start_new_thread(self._embed, ())
        except RuntimeError:  # no more threads are to be had: then now
            self._embed()

    @cached_property
    def vector(self) -> bytes:
        """The question's. Raises what the embedder raised."""
        with self._ended:
            if isinstance(self._made, BaseException):
                raise self._made
            return self._made

    def _embed(self) -> None:
        try:
            self._made = self._embedder.embed_query(self._text)
        except BaseException as error:  # noqa: BLE001 - raised again where the vector is asked for
            self._made = error
        finally:
            self._ended.release()

    def wait(self) -> None:
        """Until the model is done: at the end of a process it must not run any more."""
        with self._ended:
            pass

    def nearest(self, source: Source, limit: int) -> list[int]:
        """Rows of this source, the most alike first."""
        return self._replica.vectors.nearest(
            self._db,
            self._replica.caller,
            _kind(source.kind),
            self._embedder.model_id,
            self._embedder.dims,
            self.vector,
            limit,
            source.where,
            source.params,
        )

    def stored(self, kind: str, rows: Sequence[int]) -> list[StoredChunk]:
        """The vectors of these rows; nobody waits for the question's."""
        embedder = self._embedder
        return self._replica.vectors.stored(
            self._db, _kind(kind), embedder.model_id, embedder.dims, rows
        )

    def compared(self, stored: Sequence[StoredChunk]) -> dict[int, Chunk]:
        """The exact cosine and the vector of each row's best chunk; rows without are left out."""
        return self._replica.vectors.compared(self._embedder.dims, self.vector, stored)


@contextmanager
def begun(
    replica: Replica, db: Connection, embedder: Embedder | None, text: str
) -> Iterator[Meaning | None]:
    """The question's meaning while it is searched for, or None without an embedder."""
    if embedder is None:
        yield None
        return
    meaning = Meaning(replica, db, embedder, text)
    try:
        yield meaning
    finally:
        meaning.wait()


def _kind(name: str) -> Kind:
    return "memory" if name == "memory" else "chatlog"


def embedder_of(
    replica: Replica, db: Connection | None = None
) -> tuple[Embedder | None, list[str]]:
    """The embedder whose vectors this snapshot has, with what to tell; or that meaning is off."""
    try:
        asked = replica.asked(db)
    except EngineUnavailable as error:
        return None, [f"meaning is off, keywords only: {error}"]
    if asked.embedder is None:
        return None, [f"meaning is off, keywords only: {asked.reason}"]
    return asked.embedder, list(asked.notices)
