"""What a ranking engine is: a few functions over flat values, satisfied by a module."""

from collections.abc import Sequence
from mmap import mmap
from typing import Literal, Protocol

from satchel.extras import from_wheels

CONTRACT = 2
"""Moves when a signature or the meaning of a function does; an engine of another number is refused.

1 (2026-11): `cosine_top_k`.
2 (2026-11-29): `keyword`, `fuse`, `select`; the scans of the vector file.
"""

BytesLike = bytes | bytearray | memoryview | mmap
EngineName = Literal["pure", "native"]
Adjacency = tuple[float, float, float, float]
"""What the question before is worth, and the best of session, neighbours and window."""
Fused = tuple[list[float], list[float], bytes]
"""Scores, evidence, and the parts of the scores."""


class Ranking(Protocol):
    """An engine; all give the same numbers, which tests/vectors/ranking hold.

    Buffers are little-endian numbers back to back, a table row by row; none may be written to
    during a call. A flag is one byte, 0 or 1. What is computed is float64, in the order of
    additions that `pure` spells out, and `rounded` is to 1e-6, halves up. For all functions:
    ValueError names the argument that is no such thing, BufferError a buffer that is not one
    contiguous run of bytes.
    """

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

    def to_halves(self, vectors: BytesLike, dims: int) -> tuple[bytes, bytes]:
        """Bring rows of `dims` float32 numbers to length one and round them to float16.

        Returns the float16 rows and a flag for each: 0 where a number is not finite, and then, as
        for a row of zeros, all are zeros. A number is divided in float64, then rounded to float32,
        then to float16. Raises `ValueError` for a wrong size.
        """
        ...

    def to_codes(self, halves: BytesLike, dims: int) -> tuple[bytes, bytes]:
        """Write rows of `dims` float16 numbers as int8 codes with a float32 scale for each row.

        The scale is the largest size in the row / 127, and a code is
        `floor(number · 127 / largest + 1/2)`. Returns codes and scales. Raises `ValueError` for a
        wrong size.
        """
        ...

    def scan_halves(
        self,
        halves: BytesLike,
        dims: int,
        query: BytesLike,
        labels: BytesLike,
        allowed: BytesLike,
        k: int,
        margin: float,
        codes: BytesLike,
        scales: BytesLike,
    ) -> list[tuple[int, float]]:
        """Find candidates for the rows of `halves` most similar to `query` by cosine.

        `halves` has rows of `dims` float16 numbers of length one, `query` `dims` float32 numbers of
        any length, `labels` an int64 number for each row. A row counts only if its label is the
        number of a bit that is set in `allowed` (bit 0 is the lowest of the first byte); a negative
        label never is. `codes` and `scales` are what `to_codes` makes of `halves`, or empty: with
        them an engine may pass over rows that they say are far, so that among many rows one may be
        missed.

        Returns `(row, score)`, best first, equal scores by lower row: the best `k`, and of the next
        `k` those that are at most `margin` worse than the last of them. Unlike the other functions,
        this one adds in an order of its own: a score is right to 1e-5, and whoever needs the exact
        one computes it from the vector that was rounded here. Raises `ValueError` when `margin` is
        negative, a size is wrong or a number of `query` is not finite.
        """
        ...

    def keyword(self, counts: BytesLike, candidates: int, idf: BytesLike, k1: float) -> list[float]:
        """Weigh how often each term of a question is in each candidate.

        `counts` has a row of T uint32 numbers for each candidate, `idf` T float64 numbers: how rare
        each term is. Returns, for each candidate, the sum of `idf · c · (k1 + 1) / (c + k1)` over
        the terms: BM25 (Robertson et al., TREC-3, 1994) with b = 0. It is not rounded; all zeros
        without terms.

        Raises `ValueError` for wrong sizes, numbers beyond a million, a `k1` that is not above 0.
        """
        ...

    def fuse(
        self,
        signals: BytesLike,
        weights: BytesLike,
        core: BytesLike,
        fact: BytesLike,
        evidence: BytesLike,
        previous: BytesLike,
        following: BytesLike,
        sessions: BytesLike,
        places: BytesLike,
        asks: BytesLike,
        adjacency: Adjacency,
        reach: int,
    ) -> Fused:
        """Score a pool of n candidates by S signals and by what stands around each of them.

        `signals` has a row of S float64 numbers for each candidate, `weights` S float64 numbers;
        `core`, `fact` and `evidence` are S flags (no column is both core and fact). `previous` and
        `following` are n int32 indexes of the pool: what was said before and after, -1 for nothing;
        `sessions` n int32 group numbers from 0 to n - 1, -1 for none; `places` n int32 numbers:
        where in its session; `asks` n flags: a question.

        Every contribution `signal · weight` is rounded, then

        - `own = Σ core`, `asked = rounded(adjacency[0] · own(previous))` if `previous` asks, else 0
        - `F = own + Σ fact + asked`
        - `session = rounded(adjacency[1] · max F of its session)`, of itself where it has none
        - `neighbour = rounded(adjacency[2] · max own of previous, itself and following)`
        - `window = rounded(adjacency[3] · max F of itself and those of its session)` that are not
          more than `reach` places away
        - its parts are the S contributions, `asked`, `session`, `neighbour`, `window`
        - `score = rounded(Σ parts)`, `evidence = rounded(Σ evidence columns)`

        so what is alone is scored as if it were the best of a session of its own, and scales agree.
        Returns n scores, n evidences and n rows of S + 4 float64 parts, packed. With weights that
        are not negative, more of a signal lowers no score.

        Raises `ValueError` for wrong sizes, indexes outside the pool, numbers beyond a million.
        """
        ...

    def select(
        self,
        scores: Sequence[float],
        keys: Sequence[str],
        eligible: BytesLike,
        vectors: BytesLike,
        dims: int,
        k: int,
        diversity: float,
    ) -> list[int]:
        """Choose at most `k` of a pool of n, best first, no two too much alike.

        `eligible` are n flags: the others are passed over. `vectors` has a row of `dims` float32
        numbers for each candidate, all zeros where it has none; `dims` is 0 when nobody has one.
        The next is always the one with the highest
        `(1 - diversity) · score - diversity · likeness`, where likeness is the highest rounded
        cosine with any chosen before it, 0 at least: maximal marginal relevance (Carbonell and
        Goldstein, 1998). So the first is the best, and `diversity` 0 is the order of scores. Equal
        values come by higher score, then by lower key, then by lower index: where keys differ, the
        order of the pool does not matter.

        Returns indexes of the pool. Raises `ValueError` for wrong sizes, numbers that are not
        finite, a `diversity` outside 0 to 1, a key with a lone surrogate.
        """
        ...


class RankingUnavailable(ValueError):
    """The native ranking was demanded and can't be used here."""

    code = "ranking_unavailable"
    exit_code = 1
    hint = f"set `ranking.engine` to `auto`, or {from_wheels('native')}"


class NativeMismatch(RankingUnavailable):
    """The native core that is installed belongs to another release of satchel."""

    code = "native_mismatch"
    hint = (
        "install both of one release (in a source tree `make native`), or let"
        f" `ranking.engine` be `pure`: {from_wheels('native')}"
    )
