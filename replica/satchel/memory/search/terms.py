"""The terms of a question as each kind of row has them: how rare, and what stands for unknowns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from satchel.memory.limits import QUERY_TERMS_MAX, UNKNOWN_WORDS_MAX
from satchel.memory.search.query import Term
from satchel.memory.search.question import Question
from satchel.memory.search.vocabulary import Vocabulary


class Terms(NamedTuple):
    """What to look for in each kind; `stand_ins` says what was taken for a word that is unknown."""

    frequencies: Mapping[str, Mapping[Term, int]]
    """Kind -> term -> rows that have it, the rarest term first; literals last, with 0."""
    stand_ins: Mapping[Term, Term | None]

    complete: Mapping[str, bool]
    """Kind -> whether each term of the question, or what stands for it, is in some row."""

    def all(self) -> list[Term]:
        """Every term of any kind."""
        return list(dict.fromkeys(term for counts in self.frequencies.values() for term in counts))


def weigh(
    vocabularies: Mapping[str, Vocabulary], question: Question, *, corrects: bool = True
) -> Terms:
    """Look each term up in each kind. A word is unknown when no kind that is searched has it.

    Unless it `corrects`, an unknown word stays one: nothing stands in for it.
    """
    found = {
        kind: {term: vocabulary.frequency(term) for term in question.terms(kind)}
        for kind, vocabulary in vocabularies.items()
    }
    unknown = [
        term
        for term in question.query.terms
        if term.kind == "word" and not any(counts.get(term, 1) for counts in found.values())
    ]
    stand_ins: dict[Term, Term | None] = {}
    for term in unknown[: UNKNOWN_WORDS_MAX if corrects else 0]:
        for kind, vocabulary in vocabularies.items():
            meant = vocabulary.stand_in(term)
            stand_ins[term] = stand_ins.get(term) or meant
            if meant and meant not in found[kind]:
                found[kind][meant] = vocabulary.frequency(meant)
    return Terms(
        {kind: _rarest(counts) for kind, counts in found.items()},
        stand_ins,
        {kind: _complete(counts, stand_ins) for kind, counts in found.items()},
    )


def _complete(counts: Mapping[Term, int], stand_ins: Mapping[Term, Term | None]) -> bool:
    """Whether every word is there; one that something stands for counts as its stand-in does."""
    return all(
        found or term.kind == "literal" or stand_ins.get(term) in counts
        for term, found in counts.items()
    )


def _rarest(counts: Mapping[Term, int]) -> dict[Term, int]:
    there = sorted((term for term in counts if counts[term]), key=lambda term: counts[term])
    literals = [term for term in counts if term.kind == "literal"]
    return {term: counts[term] for term in (*there[:QUERY_TERMS_MAX], *literals)}
