"""The fast core of satchel, in Rust: the rules of `satchel.ranking.pure`, number for number."""

from satchel_native._core import (
    CONTRACT,
    Embedder,
    ModelError,
    __version__,
    cosine_top_k,
    fuse,
    keyword,
    scan_halves,
    select,
    to_codes,
    to_halves,
)

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
