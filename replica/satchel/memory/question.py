"""What a question asks for: its words, whom and which days it names, and what to embed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from satchel.memory import names
from satchel.memory.query import Query, Term, parse
from satchel.memory.talk import asks_when
from satchel.memory.tokens import Tokenizer
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.dates import Span


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


def understand(db: Connection, caller: Caller, text: str, asked_at_ms: int) -> Question:
    """Read a question; "last week" is the week before `asked_at_ms`."""
    from satchel.memory.dates import mentioned  # most commands ask nothing

    people = names.known(db, caller, text)
    return Question(
        query=parse(text, Tokenizer(db)),
        names=people,
        dates=mentioned(text, asked_at_ms),
        asks_when=asks_when(text),
        meaning=names.without(text, people),
    )
