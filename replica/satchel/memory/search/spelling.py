"""How alike two words are: for typos, in questions and in names."""

from __future__ import annotations

from typing import NamedTuple

ALIKE = 0.5
"""Dice coefficient of trigrams from which a word may be meant by another."""
TYPO_CHARS_MIN = 4
"""In shorter words one letter makes another word."""


def one_edit_apart(one: str, other: str) -> bool:
    """One letter more, less, other, or two swapped (Damerau's four); equal words are not."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    shorter = min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    return (len(left) <= 1 and len(right) <= 1) or (len(left) == 2 and left == right[::-1])


def likeness(one: str, other: str) -> float:
    """Dice coefficient of the sets of trigrams, ends marked, 0..1."""
    mine, others = _trigrams(one), _trigrams(other)
    return 2 * len(mine & others) / (len(mine) + len(others))


def _trigrams(word: str) -> set[str]:
    marked = f"^{word}$"
    return {marked[n : n + 3] for n in range(len(marked) - 2)} or {marked}


class Words(NamedTuple):
    """Words of a question or of a name: stemmed, and only folded."""

    stems: list[str]
    folded: list[str]


def stands_in(question: Words, name: Words) -> bool:
    """Whether a name stands in a question, word for word, one of them perhaps with a typo.

    Typos are sought in the folded words: the stem of a misspelt word may be another altogether.
    """
    size = len(name.stems)
    places = range(len(question.stems) - size + 1) if size else range(0)
    return any(_fits(question, name, place) for place in places)


def _fits(question: Words, name: Words, place: int) -> bool:
    typos = 0
    for n, wanted in enumerate(name.stems):
        if question.stems[place + n] != wanted:
            if typos or len(name.folded[n]) < TYPO_CHARS_MIN:
                return False
            typos += 1
            if not one_edit_apart(question.folded[place + n], name.folded[n]):
                return False
    return True
