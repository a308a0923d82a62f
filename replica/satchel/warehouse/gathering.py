"""Which rows of a warehouse may be among the best: ids by words, text, meaning, time and place.

It follows the sources of a search in a replica (`memory/search/gather.py`), a few times as wide, so
that what the ranking would choose among all rows is among these.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from satchel.memory.limits import (
    CANDIDATES_MAX,
    CANDIDATES_MIN,
    COMMON_TERMS_MAX,
    DATED_SPAN_DAYS_MAX,
    DATED_TURNS_MAX,
    LITERAL_ROWS_MAX,
    NEWEST_A_CANDIDATE,
    RANKED_ROWS_MAX,
)
from satchel.memory.lookup import dashed_ends
from satchel.memory.search.filters import Filter
from satchel.memory.search.query import Term
from satchel.memory.search.question import Question
from satchel.memory.search.sources import rows_to_rank, within_measure
from satchel.memory.search.vocabulary import rarity
from satchel.ranking.packed import unpack
from satchel.vectors.nearest import exact_cosines, is_finite

if TYPE_CHECKING:
    from satchel.embedding.contract import Embedder
    from satchel.ranking.contract import Ranking
    from satchel_warehouse.search.desk import Desk, Words

WIDER = 3
"""Times as many candidates as a replica takes: the warehouse orders them by rougher measures."""
IDS_MAX = 20


class Asked(NamedTuple):
    """A question at a warehouse, understood: what to gather by."""

    desk: Desk
    question: Question
    frequencies: Mapping[str, Mapping[Term, int]]
    sizes: Mapping[str, int]
    given: str
    """The filter as the doors take it: JSON."""
    k: int

    def limit(self, kind: str) -> int:
        """Candidates of each source."""
        return WIDER * min(max(CANDIDATES_MIN[kind], 2 * self.k), CANDIDATES_MAX)


def as_json(wanted: Filter) -> str:
    """A filter as the doors take it."""
    moment = wanted.moment
    said = {
        "now": moment.now,
        "as_of": moment.as_of,
        "type": wanted.type,
        "scope": wanted.scope,
        "spaces": wanted.spaces or None,
        "agents": wanted.agents or None,
        "since": wanted.since,
        "until": wanted.until,
    }
    return json.dumps({name: value for name, value in said.items() if value is not None})


def by_text(asked: Asked, kind: str) -> list[str]:
    """Ids that keywords, literal text, ids and days find, the likeliest first."""
    found = [*_by_id(asked, kind), *_by_keyword(asked, kind), *_by_literal(asked, kind)]
    if kind == "chatlog":
        found += _dated(asked)
    return list(dict.fromkeys(found))


def by_meaning(asked: Asked, kind: str, ranking: Ranking, embedder: Embedder) -> list[str]:
    """Ids of rows whose vectors are most like the question's: of the index, and of the rest."""
    desk, model, limit = asked.desk, embedder.model_id, asked.limit(kind)
    query = embedder.embed_query(asked.question.meaning)
    upto = desk.indexed(kind, model, embedder.dims)
    found: list[str] = []
    if upto is not None:
        found += desk.nearest(kind, asked.given, model, unpack("f", query), limit)
    batches = desk.vectors(kind, model, embedder.dims, upto or 0)
    ranked = list(most_alike(ranking, query, batches, WIDER * limit))
    passing = desk.passing(kind, asked.given, ranked) if ranked else []
    return list(dict.fromkeys([*found, *passing[:limit]]))


def most_alike(
    ranking: Ranking, query: bytes, batches: Iterator[list[tuple[str, bytes]]], limit: int
) -> Iterator[str]:
    """Ids of the most alike of all of these, best first, each once."""
    best: list[tuple[float, str]] = []
    for batch in batches:
        best = heapq.nlargest(limit, [*best, *_scored(ranking, query, batch)])
    yield from dict.fromkeys(key for _, key in best)


def _scored(
    ranking: Ranking, query: bytes, batch: Sequence[tuple[str, bytes]]
) -> list[tuple[float, str]]:
    """(cosine, id) of each; those that hold what is no number are left out."""
    dims = len(query) // 4
    try:
        cosines = exact_cosines(ranking, dims, query, [vector for _, vector in batch])
    except ValueError:  # a vector may come from anywhere
        batch = [(key, vector) for key, vector in batch if is_finite(vector, dims)]
        cosines = exact_cosines(ranking, dims, query, [vector for _, vector in batch])
    return [(cosine, key) for cosine, (key, _) in zip(cosines, batch, strict=True)]


def _by_keyword(asked: Asked, kind: str) -> list[str]:
    """See `Source.by_keyword`: the rarest words, then the newest rows with others."""
    desk, limit = asked.desk, asked.limit(kind)
    words = [term for term in asked.frequencies[kind] if term.kind != "literal"]
    if not words:
        return []
    picked = within_measure(words, asked.frequencies[kind], rows_to_rank(asked.sizes[kind]))
    if picked:
        found = desk.by_words(kind, asked.given, _words(asked, kind, picked), limit)
    else:
        all_of = _words(asked, kind, words[:COMMON_TERMS_MAX])
        found = desk.newest(kind, asked.given, all_of, limit, all_of=True, measure=RANKED_ROWS_MAX)
    others = words[max(len(picked), 1) :] if picked else words
    if others and len(found) < limit:
        any_of, newest = (
            _words(asked, kind, others),
            min(RANKED_ROWS_MAX, NEWEST_A_CANDIDATE * limit),
        )
        found += desk.newest(kind, asked.given, any_of, limit, all_of=False, measure=newest)
    return found


def _words(asked: Asked, kind: str, terms: Sequence[Term]) -> Words:
    from satchel_warehouse.search.desk import Words

    size, held = asked.sizes[kind], asked.frequencies[kind]
    return Words(
        raw=[term.raw for term in terms],
        beginnings=[term.kind == "prefix" for term in terms],
        weights=[float(rarity(size, held[term])) for term in terms],
    )


def _by_literal(asked: Asked, kind: str) -> list[str]:
    literals = [term.raw for term in asked.frequencies[kind] if term.kind == "literal"]
    return [
        key
        for literal in literals
        for key in asked.desk.by_literal(kind, asked.given, literal, LITERAL_ROWS_MAX)
    ]


def _by_id(asked: Asked, kind: str) -> list[str]:
    return [
        key
        for given in asked.question.query.ids
        for key in asked.desk.by_id(kind, *dashed_ends(given), IDS_MAX)
    ]


def _dated(asked: Asked) -> list[str]:
    """Turns of a day or month that the question names: those with its words, then the newest."""
    spans = [span.said_ms for span in asked.question.dates if span.days <= DATED_SPAN_DAYS_MAX]
    terms = [term for term in asked.frequencies["chatlog"] if term.kind != "literal"]
    none = _words(asked, "chatlog", [])
    found: list[str] = []
    for span in spans:
        for words in (_words(asked, "chatlog", terms), none) if terms else (none,):
            found += asked.desk.newest(
                "chatlog", asked.given, words, WIDER * DATED_TURNS_MAX, all_of=False,
                measure=RANKED_ROWS_MAX, span=span,
            )  # fmt: skip
    return found
