"""Ranking in plain Python: the readable rule that every other engine must equal, bit for bit."""

from satchel.ranking.contract import CONTRACT
from satchel.ranking.pure.fuse import fuse
from satchel.ranking.pure.halves import to_codes, to_halves
from satchel.ranking.pure.keyword import keyword
from satchel.ranking.pure.scan import cosine_top_k
from satchel.ranking.pure.scan_halves import scan_halves
from satchel.ranking.pure.select import select

__all__ = [
    "CONTRACT",
    "cosine_top_k",
    "fuse",
    "keyword",
    "scan_halves",
    "select",
    "to_codes",
    "to_halves",
]
