"""The tokenizer of the full-text index, as this connection has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from satchel.memory.search.spelling import Words

if TYPE_CHECKING:
    from apsw import Connection

TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))
"""As `memory_fts` and `chatlog_fts` are declared."""
DOCUMENT = 4
"""FTS5_TOKENIZE_DOCUMENT."""

Span = tuple[int, int, str]
"""Start byte, end byte and stem of a token."""


class Tokenizer:
    """Text as the index sees it: folded, stemmed words."""

    def __init__(self, db: Connection) -> None:
        """Look it up; that is cheap."""
        self._tokenize = db.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
        self._fold = db.fts5_tokenizer(TOKENIZER[1][0], list(TOKENIZER[1][1:]))

    def spans(self, text: str) -> list[Span]:
        """Each token with its place."""
        # The types of what comes back depend on the flags; with these it is such triples.
        return cast(
            "list[Span]",
            self._tokenize(text.encode(), DOCUMENT, None, include_colocated=False),
        )

    def stems(self, text: str | None) -> list[str]:
        """The tokens alone."""
        if not text:
            return []
        found = self._tokenize(
            text.encode(), DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast("list[str]", found)

    def folded(self, text: str) -> list[str]:
        """The tokens before they are stemmed."""
        found = self._fold(
            text.encode(), DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast("list[str]", found)

    def words(self, text: str) -> Words:
        """Both."""
        return Words(self.stems(text), self.folded(text))
