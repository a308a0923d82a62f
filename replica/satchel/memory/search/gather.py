"""Gathering: candidates of every source and kind, with what their text and meaning show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from satchel.memory.limits import (
    CANDIDATES_MAX,
    CANDIDATES_MIN,
    DATED_SPAN_DAYS_MAX,
    DATED_TURNS_MAX,
)
from satchel.memory.lookup import can_see, matches
from satchel.memory.search import candidates, context, counting, signals
from satchel.memory.search.candidates import Candidate
from satchel.memory.search.counting import Counted
from satchel.memory.search.filters import Filter
from satchel.memory.search.meaning import Meaning
from satchel.memory.search.pool import Pool
from satchel.memory.search.query import Term
from satchel.memory.search.question import Question
from satchel.memory.search.signals import Shown
from satchel.memory.search.sources import Source
from satchel.memory.search.terms import Terms
from satchel.memory.search.vocabulary import Vocabulary, rarity
from satchel.ranking.packed import pack

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.ranking.recipe import Calibration
    from satchel.replica import Replica
    from satchel.vectors.index import Chunk
    from satchel.vectors.nearest import StoredChunk


class _Read(NamedTuple):
    """Rows of one kind as they were read: their words counted, their vectors not yet compared."""

    counted: list[tuple[Candidate, Counted]]
    stored: list[StoredChunk]


class _Worded(NamedTuple):
    """What the words of a question find in one kind."""

    frequencies: Mapping[Term, int]
    size: int
    """Rows of the kind: the N of the inverse document frequency."""
    rows: list[int]
    read: _Read


class Gatherer:
    """What all kinds of one search are gathered with, for an answer of `k` hits."""

    def __init__(
        self,
        replica: Replica,
        question: Question,
        vocabularies: Mapping[str, Vocabulary],
        terms: Terms,
        meaning: Meaning | None,
        scale: Calibration,
        k: int,
    ) -> None:
        """`meaning` is None in a search by keyword."""
        self._replica, self._question, self._terms = replica, question, terms
        self._vocabularies = vocabularies
        self._meaning, self._scale = meaning, scale
        self._k = k

    def gather(
        self, db: Connection, kinds: Sequence[str], wanted: Filter, conversation: str | None
    ) -> Pool:
        """One pool of all these kinds, under these filters."""
        shown: list[Shown] = []
        beside: context.Beside = {}
        sources = [_source(db, self._replica, kind, wanted, conversation) for kind in kinds]
        # The question's vector is made meanwhile, so what needs none comes first.
        by_words = [self._by_words(source) for source in sources]
        for source, worded in zip(sources, by_words, strict=True):
            found = list(dict.fromkeys([*worded.rows, *self._by_meaning(source)]))
            if source.kind == "chatlog":
                beside = context.turns_beside(source, found)
                found += [row for pair in beside.values() for row in pair if row is not None]
            shown += self._shown(source, worded, found)
        rows_of_pool = [one.candidate for one in shown]
        own = [(one.meaning or 0.0) + one.keyword for one in shown]
        around = context.around(db, rows_of_pool, beside, own)
        memories = [one.id for one in rows_of_pool if one.kind == "memory"]
        now_ms = wanted.moment.asked_at_ms
        given = self._replica.activity.given_days(memories, now_ms) if memories else {}
        caller = self._replica.caller
        columns = signals.columns(self._question, shown, around, given, caller, now_ms)
        vectors, covers = [one.vector for one in shown], [one.covers for one in shown]
        return Pool(rows_of_pool, vectors, covers, columns, around)

    def _by_words(self, source: Source) -> _Worded:
        """What keywords, literal text and ids find."""
        frequencies, rows = _literals(source, self._terms.frequencies[source.kind])
        size = self._vocabularies[source.kind].size() if frequencies else 0
        wanted = self._limit(source) * self._replica.corpus.breadth
        rows += source.by_keyword(frequencies, size, wanted)
        rows += source.by_key(self._ids(source))
        return _Worded(frequencies, size, rows, self._read(source, list(frequencies), rows))

    def _read(self, source: Source, terms: Sequence[Term], rows: Sequence[int]) -> _Read:
        pool = candidates.read(source, rows)
        counted = counting.count(source, terms, self._question.query, pool)
        kept = [one.row for one in pool]
        stored = self._meaning.stored(source.kind, kept) if self._meaning else []
        return _Read(list(zip(pool, counted, strict=True)), stored)

    def _by_meaning(self, source: Source) -> list[int]:
        if self._meaning is None:
            return []
        nearest = self._meaning.nearest(source, self._limit(source))
        return nearest + self._dated(source, self._meaning)

    def _limit(self, source: Source) -> int:
        return min(max(CANDIDATES_MIN[source.kind], 2 * self._k), CANDIDATES_MAX)

    def _dated(self, source: Source, meaning: Meaning) -> list[int]:
        """Turns that were said on a day or in a month that the question names."""
        if source.kind != "chatlog":
            return []
        spans = [span.said_ms for span in self._question.dates if span.days <= DATED_SPAN_DAYS_MAX]
        found: list[int] = []
        for start_ms, end_ms in spans:
            said = source.narrowed(
                "t.said_at >= :said_from AND t.said_at < :said_until",
                {"said_from": start_ms, "said_until": end_ms},
            )
            found += meaning.nearest(said, DATED_TURNS_MAX)
        return found

    def _ids(self, source: Source) -> list[str]:
        caller = self._replica.caller
        seen = can_see(caller, source.kind)
        return [
            key
            for given in self._question.query.ids
            for key in matches(source.db, source.kind, given, seen, caller.params)
        ]

    def _shown(self, source: Source, worded: _Worded, rows: Sequence[int]) -> list[Shown]:
        """These rows, by id: whoever found them, in one order."""
        frequencies = worded.frequencies
        more = self._read(source, list(frequencies), list(set(rows).difference(worded.rows)))
        found = worded.read.counted + more.counted
        found.sort(key=lambda one: one[0].id)
        keywords = self._replica.ranking.keyword(
            pack("I", [number for _, words in found for number in words.terms]),
            len(found),
            pack("d", [rarity(worded.size, held) for held in frequencies.values()]),
            self._replica.recipe.k1,
        )
        stored = worded.read.stored + more.stored
        chunks = self._meaning.compared(stored) if self._meaning else {}
        asked = self._terms.frequencies[source.kind]
        complete = (
            bool(asked) and self._terms.complete[source.kind] and len(asked) == len(frequencies)
        )
        return [
            Shown(
                one,
                words,
                complete and all(words.terms),
                keyword,
                *self._signals(chunks.get(one.row)),
            )
            for (one, words), keyword in zip(found, keywords, strict=True)
        ]

    def _signals(self, chunk: Chunk | None) -> tuple[float | None, float | None, bytes | None]:
        if chunk is None:
            return None, None, None
        meaning = self._scale.meaning(chunk.cosine)
        alone = meaning if chunk.alone is None else self._scale.meaning(chunk.alone)
        return meaning, alone, chunk.vector


def _source(
    db: Connection, replica: Replica, kind: str, wanted: Filter, conversation: str | None
) -> Source:
    caller = replica.caller
    where = wanted.memory_sql(caller) if kind == "memory" else wanted.chatlog_sql(caller)
    if conversation is not None:
        where += " AND t.conversation_id = :conversation"
    params = {**caller.params, **wanted.params, "conversation": conversation}
    return Source(db, kind, where, params)


def _literals(source: Source, frequencies: Mapping[Term, int]) -> tuple[dict[Term, int], list[int]]:
    """Rows that hold a literal: how many they are is how rare it is."""
    counted, rows = dict(frequencies), list[int]()
    for term in frequencies:
        if term.kind == "literal":
            found = source.by_literal(term.raw)
            counted[term] = len(found)
            rows += found
    return {term: number for term, number in counted.items() if number}, rows
