"""A question as search takes it: terms as the index has them, phrases, literals, ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from satchel.memory.stopwords import STOP_WORDS

if TYPE_CHECKING:
    from apsw import Connection

TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))
"""As `memory_fts` and `chatlog_fts` are declared."""
_ID = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|\b[0-9a-fA-F]{8,31}\b")
_PHRASE = re.compile(r'"([^"]+)"')
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]{2,}"
)
"""Runs of scripts without spaces: the tokenizer makes one token of a whole sentence of them."""
TERMS_LOOKED_UP_MAX = 128

Kind = Literal["word", "prefix", "literal"]
Span = tuple[int, int, str]
"""Start byte, end byte and stem of a token."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to search for: `stem` as the index has it, `raw` as typed."""

    stem: str
    raw: str
    kind: Kind = "word"

    @property
    def fts(self) -> str:
        """The term as an FTS5 string: quoted, so that no text is ever syntax."""
        quoted = '"' + self.raw.replace('"', '""') + '"'
        return f"{quoted} *" if self.kind == "prefix" else quoted


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed question. `stems` is the whole of it, with stop words: titles may stand in it."""

    text: str
    terms: tuple[Term, ...]
    stems: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]

    @property
    def words(self) -> tuple[Term, ...]:
        """Terms that the index can find."""
        return tuple(term for term in self.terms if term.kind != "literal")

    @property
    def literals(self) -> tuple[Term, ...]:
        """Terms that only a scan of the text can find: symbols, parts of unspaced scripts."""
        return tuple(term for term in self.terms if term.kind == "literal")


class Tokenizer:
    """The tokenizer of the index, as this connection has it."""

    def __init__(self, db: Connection) -> None:
        """Look it up; that is cheap."""
        self._tokenize = db.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))

    def spans(self, text: str) -> list[Span]:
        """Each token with its place."""
        # The types of what comes back depend on the flags; with these it is such triples.
        return cast(
            "list[Span]",
            self._tokenize(text.encode(), DOCUMENT, None, include_colocated=False),
        )

    def stems(self, text: str | None) -> tuple[str, ...]:
        """The tokens alone."""
        if not text:
            return ()
        found = self._tokenize(
            text.encode(), DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast("tuple[str, ...]", tuple(found))


DOCUMENT = 4
"""FTS5_TOKENIZE_DOCUMENT."""


def parse(text: str, tokenizer: Tokenizer) -> Query:
    """Read a question; whatever its characters, this never fails."""
    encoded = text.encode()
    tokens = [
        (stem, encoded[a:b].decode(), encoded[b : b + 1] == b"*")
        for a, b, stem in tokenizer.spans(text)
    ]
    meant = [token for token in tokens if token[1].casefold() not in STOP_WORDS] or tokens
    terms: dict[str, Term] = {}
    for stem, raw, starred in meant:
        if _UNSPACED.search(raw):
            continue
        term = Term(stem, raw, "prefix" if starred and len(raw) > 1 else "word")
        terms.setdefault(term.stem, term)
    for literal in _literals(text, bool(tokens)):
        terms.setdefault(literal, Term(literal, literal, "literal"))
    return Query(
        text=text,
        terms=tuple(terms.values())[:TERMS_LOOKED_UP_MAX],
        stems=tuple(stem for stem, _, _ in tokens),
        phrases=tuple(
            stems for phrase in _PHRASE.findall(text) if len(stems := tokenizer.stems(phrase)) > 1
        ),
        ids=tuple(dict.fromkeys(found.lower() for found in _ID.findall(text)))[:8],
    )


def _literals(text: str, has_tokens: bool) -> list[str]:
    """What the tokenizer cannot cut: unspaced scripts, and symbols when there is nothing else."""
    unspaced = _UNSPACED.findall(text)
    if unspaced or has_tokens:
        return unspaced[:8]
    symbols = [word for word in text.split() if not set(word) <= set("\"'*()^:,.;-+~")]
    return symbols[:8]
