"""What a question asks for: its words, whom and which days it names, and what to embed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from satchel.memory.search import names
from satchel.memory.search.query import Query, Term, parse
from satchel.memory.search.talk import asks_when
from satchel.memory.search.tokens import Tokenizer

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.search.dates import Span


class Question(NamedTuple):
    """A question, understood."""

    query: Query
    names: tuple[str, ...]
    """People, folded."""
    dates: tuple[Span, ...]
    asks_when: bool
    meaning: str
    """The text to embed: without the names."""

    def terms(self, kind: str) -> tuple[Term, ...]:
        """What to look for in this kind; who speaks in a turn says little about what is said."""
        terms = self.query.terms
        if kind == "memory" or not self.names:
            return terms
        return tuple(one for one in terms if one.raw.casefold() not in self.names) or terms

    def shortened(self, terms_max: int) -> Question:
        """The same with no more terms than these: half from each end, where what is wanted stands.

        Each term of a question costs a look at rows; those of a long paste say nothing.
        """
        terms = self.query.terms
        if len(terms) <= terms_max:
            return self
        half = terms_max // 2
        return self._replace(query=self.query._replace(terms=(*terms[:half], *terms[-half:])))


def understand(db: Connection, people: tuple[str, ...], text: str, asked_at_ms: int) -> Question:
    """Read a question that names these people; "last week" is the week before `asked_at_ms`."""
    from satchel.memory.search.dates import mentioned  # most commands ask nothing

    return Question(
        query=parse(text, Tokenizer(db)),
        names=people,
        dates=mentioned(text, asked_at_ms),
        asks_when=asks_when(text),
        meaning=names.without(text, people),
    )
