"""Whether two texts can be the same but for a few words: told in microseconds, and no more."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.memory.text import normalised

LONG_LETTERS_MIN = 4
MISSING_MAX = 3
"""Long words of one text that the other may lack: fillers, a name, a date in words."""


def folded(text: str) -> str:
    """The text as words are sought in it."""
    return normalised(text).casefold()


def long_words(text: str) -> list[str]:
    """Its words of letters that are no article, preposition or number."""
    return [w for w in folded(text).split() if len(w) >= LONG_LETTERS_MIN and w.isalpha()]


def most_are_in(words: Sequence[str], other: str) -> bool:
    """Whether all but a few of these long words stand in a folded text."""
    return sum(word not in other for word in words) <= MISSING_MAX
