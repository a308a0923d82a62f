"""How common the words of a question are in one kind of row, and what an unknown word may mean.

An agent's numbers are those of the rows that it sees: else a score, or a corrected typo, would tell
that a hidden row has a word. Only for words in more rows than are counted one by one the number of
all rows stands in, which tells no more than that a common word is common.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from satchel.memory.limits import FREQUENCY_MAX, SEEN_ROWS_COUNTED_MAX
from satchel.memory.lookup import can_see
from satchel.memory.search.query import Term
from satchel.memory.search.spelling import ALIKE, TYPO_CHARS_MIN, likeness, one_edit_apart
from satchel.memory.search.tokens import Tokenizer
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection

PREFIX_CHARS_MIN = 3
LENGTH_APART_MAX = 2
_LAST = "\U0010ffff"


class Vocabulary:
    """The words of one kind's full-text index, as one caller sees them."""

    def __init__(self, db: Connection, kind: str, caller: Caller) -> None:
        """Nothing is read yet."""
        self._db, self._kind, self._caller = db, kind, caller

    def size(self) -> int:
        """Rows: the N of the inverse document frequency."""
        rows = int(self._db.execute(f"SELECT count(*) FROM {self._kind}_fts_docsize").get)
        if self._caller.sees_all or rows > SEEN_ROWS_COUNTED_MAX:
            return rows
        sql = f"SELECT count(*) FROM {self._kind} AS t WHERE {can_see(self._caller, self._kind)}"
        return int(self._db.execute(sql, self._caller.params).get)

    def frequency(self, term: Term) -> int:
        """Rows that have the term; literals are in no index, and have 0."""
        if term.kind == "literal":
            return 0
        rows = self._rows(term)
        if self._caller.sees_all or not rows or rows > SEEN_ROWS_COUNTED_MAX:
            return rows
        return self._seen(term)

    def stand_in(self, term: Term) -> Term | None:
        """What may be meant by a word that no row has: a beginning, or the word without a typo.

        Rows that the caller does not see have no say in it, however many they are.
        """
        if term.kind != "word" or len(term.stem) < PREFIX_CHARS_MIN:
            return None
        beginning = Term(term.stem, term.raw, "prefix")
        if self._seen(beginning):
            return beginning
        if len(term.stem) < TYPO_CHARS_MIN or not term.stem.isalpha():
            return None
        for shared in (2, 1):
            for words in self._alike(term, shared):
                meant = self._commonest(words)
                if meant is not None:
                    return meant
        return None

    def _commonest(self, words: Sequence[str]) -> Term | None:
        """The word in most rows that the caller sees, if in any; of equals the first one."""
        terms = [term for term in map(self._asked_for, words) if term is not None]
        counts = [self._seen(term) for term in terms]
        best = max(counts, default=0)
        return terms[counts.index(best)] if best else None

    def _asked_for(self, word: str) -> Term | None:
        """A stem of the index as a term: a beginning, where asking would cut it once more."""
        stems = Tokenizer(self._db).stems(word)
        if len(stems) != 1 or not word.startswith(stems[0]):
            return None
        if stems[0] == word:
            return Term(word, word)
        meant = Term(stems[0], word, "prefix")
        return meant if self._has_whole(word, meant) else None

    def _has_whole(self, word: str, meant: Term) -> bool:
        """Whether a row that the caller sees has just this stem, not only the beginning of it."""
        texts = "t.content" if self._kind == "chatlog" else "t.content, t.title, t.aliases"
        sql = f"SELECT {texts} {self._under()}"
        stems = Tokenizer(self._db).stems
        return any(
            word in stems(str(text))
            for row in self._db.execute(sql, {**self._caller.params, "term": meant.fts})
            for text in row
            if text is not None
        )

    def _seen(self, term: Term) -> int:
        """Rows that the caller sees and that have the term, up to FREQUENCY_MAX."""
        rows = self._rows(term)
        if self._caller.sees_all or not rows:
            return min(rows, FREQUENCY_MAX)
        sql = f"SELECT count(*) FROM (SELECT 1 {self._under()} LIMIT {FREQUENCY_MAX})"
        return int(self._db.execute(sql, {**self._caller.params, "term": term.fts}).get)

    def _under(self) -> str:
        """SQL: the rows that have `:term` and that the caller sees."""
        fts = f"{self._kind}_fts"
        return f"""FROM {fts} CROSS JOIN {self._kind} AS t ON t.row = {fts}.rowid
                   WHERE {fts} MATCH :term AND {can_see(self._caller, self._kind)}"""

    def _rows(self, term: Term) -> int:
        if term.kind == "word":
            sql = f"SELECT doc FROM {self._kind}_vocab WHERE term = ?"
            return int(self._db.execute(sql, (term.stem,)).get or 0)
        fts = f"{self._kind}_fts"
        sql = f"""SELECT count(*) FROM (SELECT 1 FROM {fts} WHERE {fts} MATCH ?
                                        LIMIT {FREQUENCY_MAX})"""
        return int(self._db.execute(sql, (term.fts,)).get)

    def _alike(self, term: Term, shared: int) -> Iterator[list[str]]:
        """Words like this one, with the same first letters: all that are equally alike, in turn.

        What the index has are stems: mostly beginnings of words, so the beginning of the word as it
        was typed counts as well as its own stem, which a typo may have cut off elsewhere.
        """
        stem, typed = term.stem, term.raw.casefold()
        bounds = (len(stem) - LENGTH_APART_MAX, len(typed) + LENGTH_APART_MAX)
        found: dict[tuple[bool, float], list[str]] = {}
        for word in self._words(stem[:shared], *bounds):
            near = one_edit_apart(stem, word) or one_edit_apart(typed[: len(word)], word)
            alike = likeness(stem, word)
            if near or alike >= ALIKE:
                found.setdefault((not near, -alike), []).append(word)
        return (found[place] for place in sorted(found))

    def _words(self, beginning: str, least: int, most: int) -> list[str]:
        """Words of the index that begin so and have so many characters."""
        sql = f"""SELECT term FROM {self._kind}_vocab WHERE term >= ? AND term < ?
                  AND length(term) BETWEEN ? AND ?"""
        found = self._db.execute(sql, (beginning, beginning + _LAST, least, most))
        return [word for (word,) in found]


def rarity(rows: int, found: int) -> float:
    """`ln(1 + (N - n + 1/2) / (n + 1/2))`, the idf of BM25, over ln N: of one scale in all.

    `rows` is N, `found` is n.
    """
    idf = math.log1p((max(rows, found) - found + 0.5) / (found + 0.5))
    return idf / math.log(max(rows, 3))
