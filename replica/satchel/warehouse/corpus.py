"""What a search in a warehouse's slice asks of all its rows: how common words are, who is a person.

The rules are the replica's (`memory/search/vocabulary.py`); only the counting is the warehouse's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.memory.search.names import capitalised
from satchel.memory.search.query import Term
from satchel.memory.search.vocabulary import Vocabulary

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel_warehouse.search.desk import Desk


class WarehouseVocabulary(Vocabulary):
    """The words of one kind of a tenant, each asked for once."""

    def __init__(self, desk: Desk, db: Connection, kind: str, caller: Caller) -> None:
        """`db` is the slice's: it has the tokenizer."""
        super().__init__(db, kind, caller)
        self._desk = desk
        self._held: dict[Term, int] = {}
        self._size: int | None = None

    def look_up(self, terms: Sequence[Term]) -> None:
        """Count these in one call."""
        new = [term for term in terms if term.kind != "literal" and term not in self._held]
        if new:
            raw, beginnings = [term.raw for term in new], [term.kind == "prefix" for term in new]
            found = self._desk.frequencies(self._kind, raw, beginnings)
            self._held |= dict(zip(new, found, strict=True))

    def size(self) -> int:
        """See `Vocabulary`."""
        if self._size is None:
            self._size = self._desk.size(self._kind)
        return self._size

    def _rows(self, term: Term) -> int:
        self.look_up([term])
        return self._held[term]

    def _has_whole(self, word: str, meant: Term) -> bool:
        """A stem that the warehouse told is one of a row."""
        return True

    def _words(self, beginning: str, least: int, most: int) -> list[str]:
        return self._desk.stems(self._kind, beginning, least, most)


class WarehouseCorpus:
    """All rows of a tenant; see `memory/search/corpus.py`."""

    breadth = 10
    """Words that are rare among all rows are in every row of a slice: its index can choose none."""

    def __init__(self, desk: Desk) -> None:
        """Nothing is asked yet."""
        self._desk = desk
        self._vocabularies: dict[str, WarehouseVocabulary] = {}
        self._people: dict[str, tuple[str, ...]] = {}

    def vocabulary(self, db: Connection, kind: str, caller: Caller) -> WarehouseVocabulary:
        """The words of one kind."""
        if kind not in self._vocabularies:
            self._vocabularies[kind] = WarehouseVocabulary(self._desk, db, kind, caller)
        return self._vocabularies[kind]

    def people(self, db: Connection, caller: Caller, text: str) -> tuple[str, ...]:
        """Capitalised words of a question that are people there, folded."""
        if text not in self._people:
            words = capitalised(text)
            known = set(self._desk.people(words)) if words else set()
            user = (caller.user_id or "").lower()
            self._people[text] = tuple(
                word.casefold() for word in words if word in known or word.lower() == user
            )
        return self._people[text]
