"""The one score of a hit: meaning plus keywords, and small additions; pure, explained, repeatable.

`own = cosine + w * bm`, `bm = sum idf * c (k1 + 1) / (c + k1)`, `idf = ln(1 + (N - n + 1/2) /
(n + 1/2))`, k1 0.8, b 0, w = 0.32 / ln N (Robertson's BM25 without length normalisation: memories
are short, bounded units). The parts of `explain` add up to the score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satchel.memory.query import Query, Term

K1 = 0.8
KEYWORD_WEIGHT = 0.32
TITLE_COUNT = 2
"""A term in the title or an alias counts as often as this."""
PHRASE_WEIGHT = 0.2
TITLE_WEIGHT = 0.3
ID_WEIGHT = 1.0
IMPORTANCE_WEIGHT = 0.02
PINNED_WEIGHT = 0.01
RECENCY_WEIGHT = 0.01
RECENCY_HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1000
FLOOR = 0.25
"""With meaning on, a memory below this has nothing to do with the question."""
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Document:
    """What of a row is scored: token stems in order, and what its metadata says."""

    id: str
    kind: str
    stems: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    """Stems of the title and of each alias."""
    text: str
    """Title, text and aliases, for literal terms."""
    importance: float = 0.0
    pinned: bool = False
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class Weights:
    """How rare each term is among the rows of one kind, and what a keyword is worth there."""

    idf: Mapping[str, float]
    keyword: float

    @staticmethod
    def of(rows: int, frequencies: Mapping[str, int]) -> Weights:
        """From the number of rows and in how many of them each stem is."""
        return Weights(
            {stem: _idf(rows, found) for stem, found in frequencies.items()},
            KEYWORD_WEIGHT / math.log(max(rows, 3)),
        )


def parts(
    query: Query, terms: Sequence[Term], document: Document, weights: Weights, cosine: float | None
) -> dict[str, float]:
    """Contributions to the score of one row, each rounded to 1e-6; zeros are left out."""
    found = {
        "meaning": max(cosine, 0.0) if cosine is not None else 0.0,
        "keyword": weights.keyword * _bm(terms, document, weights.idf),
        "title": TITLE_WEIGHT if any(_holds(query.stems, n) for n in document.names) else 0.0,
        "phrase": PHRASE_WEIGHT if any(_holds(document.stems, p) for p in query.phrases) else 0.0,
        "id": ID_WEIGHT if _named(query, document.id) else 0.0,
        "importance": IMPORTANCE_WEIGHT * document.importance,
        "pinned": PINNED_WEIGHT if document.pinned else 0.0,
        "recency": RECENCY_WEIGHT * 0.5 ** (max(document.age_ms, 0) / RECENCY_HALF_LIFE_MS),
    }
    return {name: rounded for name, value in found.items() if (rounded := round(value, DIGITS))}


def total(contributions: Mapping[str, float]) -> float:
    """The score: the sum of its parts."""
    return round(math.fsum(contributions.values()), DIGITS)


def matters(contributions: Mapping[str, float], kind: str, hybrid: bool) -> bool:
    """Whether a row has to do with the question at all: metadata alone makes no hit.

    Chat turns have no vectors of their own yet, so one keyword is enough for them.
    """
    about = {"meaning", "keyword", "title", "phrase", "id"}
    evidence = math.fsum(value for name, value in contributions.items() if name in about)
    if not hybrid or kind == "chatlog":
        return any(contributions.get(name, 0.0) > 0 for name in ("keyword", "phrase", "id"))
    return evidence >= FLOOR


def _idf(rows: int, found: int) -> float:
    return math.log1p((max(rows, found) - found + 0.5) / (found + 0.5))


def _bm(terms: Sequence[Term], document: Document, idf: Mapping[str, float]) -> float:
    counts = Counter(document.stems)
    for name in document.names:
        counts.update(dict.fromkeys(name, TITLE_COUNT))
    total_bm = 0.0
    for term in terms:
        count = _count(term, counts, document)
        total_bm += idf.get(term.stem, 0.0) * count * (K1 + 1) / (count + K1)
    return total_bm


def _count(term: Term, counts: Counter[str], document: Document) -> int:
    if term.kind == "word":
        return counts[term.stem]
    if term.kind == "literal":
        return document.text.count(term.raw)
    return sum(count for stem, count in counts.items() if stem.startswith(term.stem))


def _holds(stems: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the phrase stands in the stems, word for word."""
    size = len(phrase)
    if not size or size > len(stems):
        return False
    return any(tuple(stems[n : n + size]) == tuple(phrase) for n in range(len(stems) - size + 1))


def _named(query: Query, key: str) -> bool:
    digits = key.replace("-", "")
    short = (given.replace("-", "") for given in query.ids)
    return any(digits.startswith(one) or digits.endswith(one) for one in short)
