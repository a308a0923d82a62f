"""The nearest rows under a predicate, exactly: candidates of a scan, each proved from the database.

A scanned score is that of a vector rounded to float16, so it is right to `SCORE_ERROR`. Candidates
are proved best first, in blocks, until there are enough and no other one can be better.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.vectors.following import Held
from satchel.vectors.image import Image
from satchel.vectors.source import Source

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.ranking.contract import Ranking

SCORE_ERROR = 6e-4
"""Each float16 number is off by at most 2^-11 of itself, so is the vector, so is the cosine with a
vector of length one (Cauchy and Schwarz); the rest is for the additions in float32."""
SCANNED_EACH, SCANNED_MORE = 4, 64
"""Candidates of the first scan, for each row that is wanted and beyond: it costs the same."""
MORE = 8
"""Candidates proved beyond what seems needed: some are chunks of one row, some do not pass."""
WIDER = 8
SHARE_SCANNED_MAX = 4
"""Once more than a quarter of all candidates would have to be proved, one pass over the rows says
which of them pass."""
ROWS_PROVED_MAX = 500
"""So few passing rows are proved without a scan."""
BITS_MAX = 1 << 28
"""Row numbers beyond this, which only a hand gives, have no bit of their own."""


class Stale(Exception):
    """The file holds what the database does not: it is damaged, or somebody changed it."""


class Question(NamedTuple):
    """Which rows are wanted: the `limit` most similar to `query` for which `where` holds."""

    db: Connection
    caller: Caller
    source: Source
    ranking: Ranking
    dims: int
    query: bytes
    limit: int
    where: str
    params: Mapping[str, Any]

    def cosines(self, vectors: Sequence[bytes]) -> list[float]:
        """The exact cosine of each vector."""
        return exact_cosines(self.ranking, self.dims, self.query, vectors)


_Candidate = tuple[float, int, int]
"""Score, source and row."""


class _Found(NamedTuple):
    """Candidates, best first; the others, where there are any, have at most the score `beyond`."""

    candidates: Iterator[_Candidate]
    beyond: float | None


class _Proved(NamedTuple):
    """Of the rows that pass: cosine of the best chunk, id for equal ones; and all sources seen."""

    cosines: dict[int, float]
    ids: dict[int, str]
    sources: set[int]

    def keep(self, row: int, key: str, cosine: float) -> None:
        """Count a chunk of a row that passes."""
        self.ids[row] = key
        if cosine > self.cosines.get(row, -2.0):
            self.cosines[row] = cosine

    def best(self, limit: int) -> list[int]:
        """Row numbers, best first."""
        ids = self.ids
        ordered = sorted((-cosine, ids[row], row) for row, cosine in self.cosines.items())
        return [row for _, _, row in ordered[:limit]]

    def least(self, limit: int) -> float:
        """The worst cosine of the best `limit` rows, less than any while there are fewer."""
        return sorted(self.cosines.values())[-limit] if len(self.cosines) >= limit else -2.0

    def wanted(self, limit: int) -> int:
        """How many candidates to prove next, by the share that has passed so far."""
        missing = limit - len(self.cosines)
        return MORE + max(0, missing) * (len(self.sources) + 1) // (len(self.cosines) + 1)


def nearest(asked: Question, held: Held, sound: bool) -> list[int]:
    """Row numbers, most similar first. Raises Stale when `sound` and the file is wrong."""
    if asked.limit < 1:
        return []
    proved, want = _Proved({}, {}, set()), SCANNED_EACH * asked.limit + SCANNED_MORE
    _prove_later(asked, held, proved)
    while True:
        if _prove(asked, _by_owner(asked, held, want), proved, sound):
            return proved.best(asked.limit)
        want = max(want * WIDER, 2 * proved.wanted(asked.limit))
        if want * SHARE_SCANNED_MAX > held.records:
            return _by_row(asked, held, sound)


def exact_cosines(
    ranking: Ranking, dims: int, query: bytes, vectors: Sequence[bytes]
) -> list[float]:
    """The exact cosine of each vector with the query; they must be finite."""
    if not vectors:
        return []
    found = ranking.cosine_top_k(b"".join(vectors), dims, query, len(vectors))
    cosines = [0.0] * len(vectors)
    for place, cosine in found:
        cosines[place] = cosine
    return cosines


def _by_owner(asked: Question, held: Held, want: int) -> _Found:
    """The best candidates of owners that the caller may see."""
    return _joined(
        _scanned(
            asked,
            held,
            image,
            image.owners,
            image.seen.bits(asked.db, asked.caller, image.groups),
            want,
        )
        for image in held.images
    )


def _by_row(asked: Question, held: Held, sound: bool) -> list[int]:
    """Few rows pass: ask for all of them, and scan only those."""
    found = asked.db.execute(asked.source.passing(asked.where), asked.params)
    passing = [int(row) for (row,) in found]
    proved = _Proved({}, {}, set())
    if len(passing) <= ROWS_PROVED_MAX:
        _prove_rows(asked, passing, proved)
        return proved.best(asked.limit)
    _prove_rows(asked, [row for row in passing if not 0 <= row < BITS_MAX], proved)
    _prove_later(asked, held, proved)
    bits, want = _bits(passing), SCANNED_EACH * asked.limit + SCANNED_MORE
    while True:
        scanned = (_scanned(asked, held, image, image.rows, bits, want) for image in held.images)
        if _prove(asked, _joined(scanned), proved, sound):
            return proved.best(asked.limit)
        want *= WIDER


def _bits(rows: Sequence[int]) -> bytes:
    near = [row for row in rows if 0 <= row < BITS_MAX]
    bits = bytearray(max(near, default=0) // 8 + 1)
    for row in near:
        bits[row >> 3] |= 1 << (row & 7)
    return bytes(bits)


def _scanned(
    asked: Question, held: Held, image: Image, labels: memoryview, bits: bytes, want: int
) -> _Found:
    margin = 2 * SCORE_ERROR
    found = image.scan(asked.ranking, asked.query, labels, bits, want, margin)
    masked = held.masked if image is held.base else frozenset()
    candidates = (
        (score, source, row)
        for score, record, source, row in image.named(found)
        if record not in masked and source not in held.later
    )
    if len(found) < want:
        return _Found(candidates, None)
    beyond = found[want - 1][1] - margin if len(found) < 2 * want else found[-1][1]
    return _Found(candidates, beyond)


def _joined(found: Iterable[_Found]) -> _Found:
    first, *rest = found
    if not rest:
        return first
    beyond = [part.beyond for part in (first, *rest) if part.beyond is not None]
    candidates = heapq.merge(*(part.candidates for part in (first, *rest)), key=lambda one: -one[0])
    return _Found(iter(candidates), max(beyond, default=None))


def _prove(asked: Question, found: _Found, proved: _Proved, sound: bool) -> bool:
    """Prove candidates until no later one, nor any that was not found, can be among the best."""
    fresh = (one for one in found.candidates if one[1] not in proved.sources)
    while block := list(islice(fresh, proved.wanted(asked.limit))):
        if block[0][0] + SCORE_ERROR < proved.least(asked.limit):
            return True
        _prove_block(asked, block, proved, sound)
        proved.sources.update(source for _, source, _ in block)
    return found.beyond is None or found.beyond + SCORE_ERROR < proved.least(asked.limit)


def _prove_block(
    asked: Question, block: Sequence[_Candidate], proved: _Proved, sound: bool
) -> None:
    passing: list[tuple[_Candidate, str, bytes]] = []
    for place, row, key, vector in _checked(asked, [source for _, source, _ in block]):
        one = block[place - 1]
        if row != one[2]:
            if sound:
                raise Stale(f"record of {asked.source.table} {one[1]} is not so any more")
        elif vector is not None and (sound or is_finite(vector, asked.dims)):
            passing.append((one, key, vector))
    try:
        cosines = asked.cosines([vector for _, _, vector in passing])
    except ValueError as error:
        raise Stale(f"a vector of {asked.source.table} is none: {error}") from error
    for ((score, source, row), key, _), cosine in zip(passing, cosines, strict=True):
        if sound and abs(cosine - score) > SCORE_ERROR:
            raise Stale(f"record of {asked.source.table} {source} has another vector")
        proved.keep(row, key, cosine)


def _prove_later(asked: Question, held: Held, proved: _Proved) -> None:
    """What changed since the snapshot, as the snapshot has it."""
    found = [
        (row, key, vector)
        for _, row, key, vector in _checked(asked, list(held.later))
        if vector is not None and is_finite(vector, asked.dims)
    ]
    cosines = asked.cosines([vector for _, _, vector in found])
    for (row, key, _), cosine in zip(found, cosines, strict=True):
        proved.keep(row, key, cosine)


def _checked(asked: Question, sources: Sequence[int]) -> Iterable[Any]:
    """(place from 1, row, id, vector) of these sources: see `Source.checked`."""
    import apsw

    if not sources:
        return ()
    params = {**asked.params, "vector_sources": apsw.carray(array("q", sources))}
    found: list[Any] = asked.db.execute(asked.source.checked(asked.where), params).fetchall()
    return found


def _prove_rows(asked: Question, rows: Sequence[int], proved: _Proved) -> None:
    stored = stored_chunks(asked.db, asked.source, rows, asked.params)
    for chunk in compared(asked.ranking, asked.dims, asked.query, stored):
        proved.keep(chunk.row, chunk.key, chunk.cosine)


class StoredChunk(NamedTuple):
    """A chunk of a row as the database has it."""

    row: int
    key: str
    view: int
    vector: bytes


class RowChunk(NamedTuple):
    """A chunk of a row, and how near it is."""

    row: int
    key: str
    view: int
    vector: bytes
    cosine: float


def stored_chunks(
    db: Connection, source: Source, rows: Sequence[int], params: Mapping[str, Any]
) -> list[StoredChunk]:
    """Every chunk of these rows that has a vector fit for use."""
    import apsw

    if not rows:
        return []
    asked = {**params, "vector_rows": apsw.carray(array("q", rows))}
    return [StoredChunk(*one) for one in db.execute(source.of_rows, asked)]


def compared(
    ranking: Ranking, dims: int, query: bytes, stored: Sequence[StoredChunk]
) -> list[RowChunk]:
    """Each of these chunks with its cosine; those that hold what is no number are left out."""
    try:
        cosines = exact_cosines(ranking, dims, query, [one.vector for one in stored])
    except ValueError:  # a vector may come from anywhere
        stored = [one for one in stored if is_finite(one.vector, dims)]
        cosines = exact_cosines(ranking, dims, query, [one.vector for one in stored])
    return [RowChunk(*one, cosine) for one, cosine in zip(stored, cosines, strict=True)]


def is_finite(vector: bytes, dims: int) -> bool:
    """Whether no number of a float32 vector is infinite or none: all 8 exponent bits set."""
    numbers = array("f")
    numbers.frombytes(vector)
    return len(numbers) == dims and sum(numbers) - sum(numbers) == 0.0
