"""Types of the compiled module; `make check` compares them with it."""

from mmap import mmap
from typing import Final

__all__ = ["CONTRACT", "__version__", "cosine_top_k"]

__version__: Final[str]
CONTRACT: Final[int]

def cosine_top_k(
    matrix: bytes | bytearray | memoryview | mmap,
    dims: int,
    query: bytes | bytearray | memoryview | mmap,
    k: int,
) -> list[tuple[int, float]]: ...
