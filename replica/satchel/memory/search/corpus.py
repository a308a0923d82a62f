"""What a search asks of all rows beside its candidates: how common words are, who is a person.

The rows of this store tell it; of a part of somebody else's rows, whoever holds them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from satchel.memory.search import names
from satchel.memory.search.vocabulary import Vocabulary

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller


class Corpus(Protocol):
    """All rows that candidates are of."""

    breadth: int
    """Times as many candidates by keyword as usual: of rows chosen already all are looked at."""

    def vocabulary(self, db: Connection, kind: str, caller: Caller) -> Vocabulary:
        """The words of one kind, as this caller sees them."""
        ...

    def people(self, db: Connection, caller: Caller, text: str) -> tuple[str, ...]:
        """Capitalised words of a question that are people there, folded (`names.known`)."""
        ...


class Held:
    """The rows of the store that is searched."""

    breadth = 1

    def vocabulary(self, db: Connection, kind: str, caller: Caller) -> Vocabulary:
        """See `Corpus`."""
        return Vocabulary(db, kind, caller)

    def people(self, db: Connection, caller: Caller, text: str) -> tuple[str, ...]:
        """See `Corpus`."""
        return names.known(db, caller, text)
