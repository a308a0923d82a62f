"""A question as search takes it: terms as the index has them, phrases, literals, ids."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from satchel.memory.search.spelling import Words
from satchel.memory.search.stopwords import STOP_WORDS
from satchel.memory.search.tokens import Tokenizer

_ID = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|\b[0-9a-fA-F]{8,31}\b")
_PHRASE = re.compile(r'"([^"]*)"|“([^”]*)”|„([^“]*)“|«([^»]*)»')
TERMS_LOOKED_UP_MAX = 128

Kind = Literal["word", "prefix", "literal"]


class Term(NamedTuple):
    """One thing to search for: `stem` as the index has it, `raw` as typed."""

    stem: str
    raw: str
    kind: Kind = "word"

    @property
    def fts(self) -> str:
        """The term as an FTS5 string: quoted, so that no text is ever syntax."""
        quoted = '"' + self.raw.replace('"', '""') + '"'
        return f"{quoted} *" if self.kind == "prefix" else quoted


class Phrase(NamedTuple):
    """Words that somebody put in quotation marks; one without any word is only text."""

    raw: str
    stems: tuple[str, ...]


class Query(NamedTuple):
    """A parsed question. `words` is the whole of it, with stop words: titles may stand in it."""

    text: str
    terms: tuple[Term, ...]
    words: Words
    phrases: tuple[Phrase, ...]
    ids: tuple[str, ...]


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
        if not raw.isascii() and _unspaced().search(raw):
            continue
        term = Term(stem, raw, "prefix" if starred and len(raw) > 1 else "word")
        terms.setdefault(term.stem, term)
    phrases = _phrases(text, tokenizer)
    for literal in _literals(text, phrases, bool(tokens)):
        terms.setdefault(literal, Term(literal, literal, "literal"))
    return Query(
        text=text,
        terms=tuple(terms.values())[:TERMS_LOOKED_UP_MAX],
        words=tokenizer.words(text),
        phrases=phrases,
        ids=tuple(dict.fromkeys(found.lower() for found in _ID.findall(text)))[:8],
    )


def _phrases(text: str, tokenizer: Tokenizer) -> tuple[Phrase, ...]:
    quoted = ("".join(groups).strip() for groups in _PHRASE.findall(text))
    return tuple(Phrase(raw, tuple(tokenizer.stems(raw))) for raw in dict.fromkeys(quoted) if raw)[
        :8
    ]


def _literals(text: str, phrases: tuple[Phrase, ...], has_tokens: bool) -> list[str]:
    """What the tokenizer cannot cut.

    That are unspaced scripts, quoted symbols, and any symbols when there is nothing else.
    """
    unspaced = [] if text.isascii() else _unspaced().findall(text)
    found = [*unspaced, *(phrase.raw for phrase in phrases if not phrase.stems)]
    if not found and not has_tokens:
        found = [word for word in text.split() if not set(word) <= set("\"'*()^:,.;-+~")]
    return list(dict.fromkeys(found))[:8]


@cache
def _unspaced() -> re.Pattern[str]:
    """Runs of scripts without spaces: the tokenizer makes one token of a whole sentence of them.

    Compiled with the first question that is not ASCII: that takes milliseconds.
    """
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
        "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]{2,}"
    )
