"""Types of the compiled module; `make check` compares them with it."""

from collections.abc import Callable, Sequence
from mmap import mmap
from os import PathLike
from typing import Final, TypeAlias, final

__all__ = [
    "CONTRACT",
    "Embedder",
    "ModelError",
    "__version__",
    "cosine_top_k",
    "fuse",
    "keyword",
    "scan_halves",
    "select",
    "to_codes",
    "to_halves",
]

_BytesLike: TypeAlias = bytes | bytearray | memoryview | mmap

__version__: Final[str]
CONTRACT: Final[int]

def cosine_top_k(
    matrix: bytes | bytearray | memoryview | mmap,
    dims: int,
    query: bytes | bytearray | memoryview | mmap,
    k: int,
) -> list[tuple[int, float]]: ...
def keyword(counts: _BytesLike, candidates: int, idf: _BytesLike, k1: float) -> list[float]: ...
def fuse(
    signals: _BytesLike,
    weights: _BytesLike,
    core: _BytesLike,
    fact: _BytesLike,
    evidence: _BytesLike,
    previous: _BytesLike,
    following: _BytesLike,
    sessions: _BytesLike,
    places: _BytesLike,
    asks: _BytesLike,
    adjacency: tuple[float, float, float, float],
    reach: int,
) -> tuple[list[float], list[float], bytes]: ...
def select(
    scores: Sequence[float],
    keys: Sequence[str],
    eligible: _BytesLike,
    vectors: _BytesLike,
    dims: int,
    k: int,
    diversity: float,
) -> list[int]: ...
def to_halves(vectors: _BytesLike, dims: int) -> tuple[bytes, bytes]: ...
def to_codes(halves: _BytesLike, dims: int) -> tuple[bytes, bytes]: ...
def scan_halves(
    halves: _BytesLike,
    dims: int,
    query: _BytesLike,
    labels: _BytesLike,
    allowed: _BytesLike,
    k: int,
    margin: float,
    codes: _BytesLike,
    scales: _BytesLike,
) -> list[tuple[int, float]]: ...

class ModelError(Exception):
    code: str

@final
class Embedder:
    @staticmethod
    def open(folder: str | PathLike[str]) -> Embedder: ...
    @property
    def dims(self) -> int: ...
    @property
    def window(self) -> int: ...
    @property
    def kernel(self) -> str: ...
    def tokens(self, text: str) -> list[int]: ...
    def count_tokens(self, text: str) -> int: ...
    def encode(
        self,
        texts: Sequence[str],
        threads: int = 0,
        progress: Callable[[int, int], object] | None = None,
    ) -> bytes: ...
