"""The fast core of satchel, in Rust: the rules of `satchel.ranking.pure`, number for number."""

from satchel_native._core import CONTRACT, __version__, cosine_top_k

__all__ = ["CONTRACT", "__version__", "cosine_top_k"]
