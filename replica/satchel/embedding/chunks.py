"""Long text in pieces that fit a model's window, with overlap: nothing is silently cut off."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from satchel.embedding.contract import Embedder

OVERLAP_SHARE = 8
"""A chunk repeats the last eighth of the one before, so that no sentence is seen only in halves."""
SPECIAL_TOKENS = 2
_WORD = re.compile(r"\s*\S+")

Count = Callable[[str], int]


class Piece(NamedTuple):
    """A text to embed: chunk `chunk` of the view `view` of something."""

    view: int
    chunk: int
    text: str


class Made(NamedTuple):
    """The vectors of one text by one model."""

    embedder: Embedder
    vectors: Sequence[tuple[Piece, bytes]]


def split(text: str, window: int, count: Count) -> list[str]:
    """`text` as chunks of at most `window` tokens each; every word is in at least one of them.

    `count` gives the tokens of a text. Short text is one chunk, white space alone is none.
    """
    if not text.strip():
        return []
    if count(text) <= window:
        return [text.strip()]
    words = [piece for word in _WORD.findall(text) for piece in _fitting(word, window, count)]
    pieces = [
        piece.strip()
        for chunk in _windows(words, window, count)
        for piece in _fitting(chunk.strip(), window, count)
    ]
    return [piece for piece in pieces if piece]


def _windows(words: list[str], window: int, count: Count) -> list[str]:
    """Runs of words whose counted tokens fill the window, each overlapping the one before."""
    sizes = [max(1, count(word) - SPECIAL_TOKENS) for word in words]
    room = max(1, window - SPECIAL_TOKENS)
    chunks: list[str] = []
    start = 0
    while start < len(words):
        end, used = start, 0
        while end < len(words) and (end == start or used + sizes[end] <= room):
            used += sizes[end]
            end += 1
        chunks.append("".join(words[start:end]))
        if end == len(words):
            break
        start = _step_back(sizes, start, end, room // OVERLAP_SHARE)
    return chunks


def _step_back(sizes: list[int], start: int, end: int, overlap: int) -> int:
    """Where the next chunk starts: `overlap` tokens before `end`, but always behind `start`."""
    repeated = 0
    while end - 1 > start and repeated + sizes[end - 1] <= overlap:
        end -= 1
        repeated += sizes[end]
    return end


def _fitting(text: str, window: int, count: Count) -> list[str]:
    """`text` itself, or halves of it until each fits: words joined may count more than alone."""
    if len(text) <= 1 or count(text) <= window:
        return [text]
    middle = len(text) // 2
    return [*_fitting(text[:middle], window, count), *_fitting(text[middle:], window, count)]
