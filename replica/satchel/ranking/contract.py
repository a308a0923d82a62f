"""What a ranking engine is: a few functions over flat values, satisfied by a module."""

from mmap import mmap
from typing import Literal, Protocol

CONTRACT = 1
"""Moves when a signature or the meaning of a function does; an engine of another number is refused.

1 (2026-11): `cosine_top_k`.
"""

BytesLike = bytes | bytearray | memoryview | mmap
EngineName = Literal["pure", "native"]


class Ranking(Protocol):
    """An engine; all give the same numbers, which tests/vectors/ranking hold."""

    @property
    def CONTRACT(self) -> int:  # noqa: N802 - a module's constant satisfies it
        """Which contract the engine keeps."""
        ...

    def cosine_top_k(
        self, matrix: BytesLike, dims: int, query: BytesLike, k: int
    ) -> list[tuple[int, float]]:
        """Find the `k` rows of `matrix` most similar to `query` by cosine.

        `matrix` holds rows of `dims` little-endian float32 numbers back to back (none is allowed),
        `query` one such row; neither may be written to during the call. Returns `(row, score)`,
        best first, equal scores by lower row, at most `k` pairs. A score is computed in float64 in
        the order of additions that `pure` spells out, is rounded to 1e-6, and is 0 where either
        vector is all zeros.

        Raises `ValueError` when `dims` is below 1, `k` below 0, a buffer has the wrong size or a
        number is not finite, `BufferError` when a buffer is not one contiguous run of bytes.
        """
        ...


class RankingUnavailable(ValueError):
    """The native ranking was demanded and can't be used here."""

    code = "ranking_unavailable"
    exit_code = 1
    hint = "set `ranking.engine` to `auto`, or install `satchel[native]`"
