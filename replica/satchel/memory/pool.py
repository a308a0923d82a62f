"""Vectors of the memories that a caller sees, packed for one scan; kept until the store changes."""

from __future__ import annotations

import logging
import math
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from satchel.embedding.vectors import DTYPE
from satchel.memory.lookup import can_see
from satchel.memory.visibility import Caller, alive

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.ranking.contract import Ranking

FLOAT_BYTES = 4
POOLS_KEPT = 2
_log = logging.getLogger(__name__)

VECTORS = """
SELECT e.memory_id, e.vector FROM embedding AS e
JOIN memory AS t ON t.id = e.memory_id AND t.content_hash = e.content_hash
WHERE e.model = :model AND e.dims = :dims AND e.dtype = :dtype
  AND length(e.vector) = 4 * :dims AND typeof(e.vector) = 'blob' AND {alive} AND {seen}
ORDER BY e.memory_id, e.chunk
"""


@dataclass(frozen=True)
class Pool:
    """Row n of `matrix` (`dims` little-endian float32 numbers) is a chunk of memory `ids[n]`."""

    ids: tuple[str, ...]
    matrix: bytes
    dims: int

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Memory id -> its rows."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.ids):
            found.setdefault(key, []).append(row)
        return found

    def best(self, ranking: Ranking, query: bytes, k: int) -> list[str]:
        """Memory ids of the `k` most similar chunks, best first, each once."""
        if not self.ids:
            return []
        found = ranking.cosine_top_k(self.matrix, self.dims, query, min(k, len(self.ids)))
        return list(dict.fromkeys(self.ids[row] for row, _ in found))

    def cosines(self, ranking: Ranking, query: bytes, ids: list[str]) -> dict[str, float]:
        """The cosine of each memory's best chunk; a memory without vectors is left out."""
        picked = [(key, row) for key in ids for row in self.rows.get(key, ())]
        if not picked:
            return {}
        size = self.dims * FLOAT_BYTES
        packed = b"".join(self.matrix[row * size : (row + 1) * size] for _, row in picked)
        best: dict[str, float] = {}
        for row, score in ranking.cosine_top_k(packed, self.dims, query, len(picked)):
            best.setdefault(picked[row][0], score)
        return best


class PoolCache:
    """The pools of one process: the last few, each valid for one state of the store."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Pool] = OrderedDict()

    def get(self, db: Connection, caller: Caller, model_id: str, dims: int) -> Pool:
        """The pool for this caller and model, read anew when anything was written meanwhile."""
        key = (caller, model_id, dims, *_state(db))
        pool = self._kept.get(key)
        if pool is None:
            pool = load(db, caller, model_id, dims)
            self._kept[key] = pool
            while len(self._kept) > POOLS_KEPT:
                self._kept.popitem(last=False)
        return pool


def load(db: Connection, caller: Caller, model_id: str, dims: int) -> Pool:
    """Read the vectors of every memory that the caller sees, current or not."""
    sql = VECTORS.format(alive=alive("e"), seen=can_see(caller, "memory"))
    params = {**caller.params, "model": model_id, "dims": dims, "dtype": DTYPE}
    found: list[Any] = db.execute(sql, params).fetchall()
    # A vector may come from anywhere; one number that is none would fail every search.
    sound = [(key, vector) for key, vector in found if _finite(vector)]
    if len(sound) < len(found):
        _log.warning(
            "%d vectors of %s hold a number that is not finite", len(found) - len(sound), model_id
        )
    return Pool(tuple(key for key, _ in sound), b"".join(vector for _, vector in sound), dims)


def _finite(vector: bytes) -> bool:
    """A float32 is infinite or no number when its 8 exponent bits are all set."""
    numbers = array("f")
    numbers.frombytes(vector)
    return math.isfinite(sum(numbers))


def _state(db: Connection) -> tuple[int, int, int]:
    """Changes with every commit: of other connections, and of this one."""
    version = int(db.execute("PRAGMA data_version").get)
    return id(db), version, db.total_changes()
