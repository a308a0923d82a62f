"""How often the terms of a question are in each candidate, and whether its phrases and names are.

Short texts are cut into words here; of a long one the index tells the counts, since cutting it
would take longer than all the rest of a search. Both count the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.memory.search.candidates import Candidate
from satchel.memory.search.query import Phrase, Query, Term
from satchel.memory.search.sources import Source
from satchel.memory.search.spelling import Words, stands_in
from satchel.memory.search.tokens import Tokenizer

if TYPE_CHECKING:
    from apsw import FTS5ExtensionApi

WORDS_MAX = 100
"""Beyond, length says nothing more."""
TITLE_COUNT = 2
"""A term in the title counts as often as this, and so does one in the aliases."""


class Counted(NamedTuple):
    """`terms` in the order of the question's; `phrase`: a quoted phrase stands in the row."""

    terms: list[int]
    phrase: bool
    titled: bool
    """The title or an alias stands in the question."""
    words: int
    """Of the text, up to WORDS_MAX."""


def count(
    source: Source, terms: Sequence[Term], query: Query, pool: Sequence[Candidate]
) -> list[Counted]:
    """One entry for each candidate of the pool; all are of the source's kind."""
    tokenizer = Tokenizer(source.db)
    asked = frozenset(query.words.stems)
    may_hold = _quick_look(terms, query)
    indexed = _Indexed(source, terms, query) if any(one.text is None for one in pool) else None
    found = []
    for one in pool:
        names = [tokenizer.stems(name) for name in one.names]
        titled = any(
            _titled(query, asked, name, stems, tokenizer)
            for name, stems in zip(one.names, names, strict=True)
        )
        text = one.text
        if text is None and indexed:
            found.append(Counted(*indexed.count(one), titled, WORDS_MAX))
            continue
        text = text or ""
        stems = tokenizer.stems(text) if may_hold(text) else []
        counts = _cut(one, stems, names, terms)
        phrase = bool(query.phrases) and _quoted(one, stems, names, query.phrases)
        found.append(Counted(counts, phrase, titled, min(len(text.split()), WORDS_MAX)))
    return found


def _quick_look(terms: Sequence[Term], query: Query) -> Callable[[str], bool]:
    """Whether a text may hold any of this: then only it has to be cut into words.

    A stem begins as its word does, but for its last letter (Porter's rules only cut, and put one
    other letter at the end); in other scripts than ASCII folding may change letters too, and those
    texts are always cut.
    """
    if query.phrases or not all(term.stem.isascii() for term in terms):
        return lambda text: True
    beginnings = {term.stem[: max(1, len(term.stem) - 1)] for term in terms}

    def may_hold(text: str) -> bool:
        if not text.isascii():
            return True
        lowered = text.lower()
        for beginning in beginnings:  # noqa: SIM110 - of each candidate: half the time of `any`
            if beginning in lowered:
                return True
        return False

    return may_hold


def _titled(
    query: Query, asked: frozenset[str], name: str, stems: list[str], tokenizer: Tokenizer
) -> bool:
    """Whether a name stands in the question; one word of it may have a typo."""
    if len(asked.intersection(stems)) < len(stems) - 1 and len(set(stems) - asked) > 1:
        return False
    return stands_in(query.words, Words(stems, tokenizer.folded(name)))


def _cut(
    one: Candidate, stems: list[str], names: list[list[str]], terms: Sequence[Term]
) -> list[int]:
    """Counts of the terms in a text that was cut into words."""
    text = one.text or ""
    if stems:
        counts = [
            stems.count(term.stem) if term.kind == "word" else _count(term, stems, text)
            for term in terms
        ]
    else:
        counts = [text.count(term.raw) if term.kind == "literal" else 0 for term in terms]
    titles = bool(one.title)
    for group, raw in ((names[:titles], one.names[:titles]), (names[titles:], one.aliases)):
        if not group:
            continue
        in_names = set(group[0]).union(*group[1:])
        for place, term in enumerate(terms):
            if term.stem in in_names if term.kind == "word" else _is_in(term, group, raw):
                counts[place] += TITLE_COUNT
    return counts


def _quoted(
    one: Candidate, stems: list[str], names: list[list[str]], phrases: Sequence[Phrase]
) -> bool:
    """Whether a phrase is there."""
    return any(_holds(phrase, [stems, *names], (one.text or "", *one.names)) for phrase in phrases)


def _is_in(term: Term, group: list[list[str]], raw: Sequence[str]) -> bool:
    """Whether any of these names has the term, which is a beginning or a literal."""
    return any(_count(term, stems, text) for stems, text in zip(group, raw, strict=True))


def _count(term: Term, stems: list[str], text: str) -> int:
    if term.kind == "word":
        return stems.count(term.stem)
    if term.kind == "literal":
        return text.count(term.raw)
    return sum(stem.startswith(term.stem) for stem in stems)


def _holds(phrase: Phrase, stems: list[list[str]], texts: Sequence[str]) -> bool:
    """Word for word; a phrase of symbols character for character."""
    if not phrase.stems:
        return any(phrase.raw in text for text in texts)
    wanted = f" {' '.join(phrase.stems)} "
    return any(wanted in f" {' '.join(words)} " for words in stems)


class _Indexed:
    """Counts of the full-text index, row by row."""

    FUNCTION = "satchel_counts"

    def __init__(self, source: Source, terms: Sequence[Term], query: Query) -> None:
        phrases = query.phrases
        self._source, self._terms, self._phrases = source, terms, phrases
        self._asked = [term.fts for term in terms if term.kind != "literal"]
        self._asked += [Term("", phrase.raw).fts for phrase in phrases if phrase.stems]
        source.db.register_fts5_function(self.FUNCTION, _positions)

    def count(self, one: Candidate) -> tuple[list[int], bool]:
        """As `_cut` counts."""
        by_index = iter(self._of_index(one))
        counts = [
            self._literal(one, term.raw) if term.kind == "literal" else next(by_index)
            for term in self._terms
        ]
        holds = [
            next(by_index) > 0 if phrase.stems else self._literal(one, phrase.raw) > 0
            for phrase in self._phrases
        ]
        return counts, any(holds)

    def _of_index(self, one: Candidate) -> list[int]:
        if not self._asked:
            return []
        fts = f"{self._source.kind}_fts"
        sql = f"SELECT {self.FUNCTION}({fts}) FROM {fts} WHERE {fts} MATCH ? AND rowid = ?"
        found = self._source.db.execute(sql, (" OR ".join(self._asked), one.row)).get
        return [int(number) for number in found.split()] if found else [0] * len(self._asked)

    def _literal(self, one: Candidate, literal: str) -> int:
        text = "coalesce(t.content, '')"
        sql = f"""SELECT (length({text}) - length(replace({text}, :literal, '')))
                         / length(:literal) FROM {self._source.kind} AS t WHERE t.row = :row"""
        found = self._source.db.execute(sql, {"literal": literal, "row": one.row}).get
        in_title, in_aliases = literal in (one.title or ""), any(literal in a for a in one.aliases)
        return int(found or 0) + TITLE_COUNT * in_title + TITLE_COUNT * in_aliases


def _positions(api: FTS5ExtensionApi, *_: Any) -> str:
    """How often each phrase of the expression is in this row, those in names counted as such."""
    counts = []
    for phrase in range(api.phrase_count):
        places = api.phrase_locations(phrase)
        title, content, aliases = places if len(places) == 3 else ([], places[0], [])
        counts.append(len(content) + TITLE_COUNT * bool(title) + TITLE_COUNT * bool(aliases))
    return " ".join(map(str, counts))
