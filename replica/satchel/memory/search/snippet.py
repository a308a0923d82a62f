"""The piece of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.memory.limits import SNIPPET_CHARS
from satchel.memory.search.query import Term
from satchel.memory.search.tokens import Tokenizer


def cut(
    text: str, terms: Sequence[Term], tokenizer: Tokenizer | None, chars: int = SNIPPET_CHARS
) -> str:
    """At most `chars` characters on one line, around most terms; "…" where text is left out.

    Without a tokenizer from its beginning on.
    """
    if len(text) <= chars:
        return " ".join(text.split())
    places = _places(text, terms, tokenizer) if tokenizer else []
    start = _start(places, len(text), chars)
    end = min(len(text), start + chars)
    start, end = _at_words(text, start, end)
    body = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{body}{'…' if end < len(text) else ''}"


def _places(text: str, terms: Sequence[Term], tokenizer: Tokenizer) -> list[int]:
    """Character positions where a term starts."""
    stems = {term.stem for term in terms if term.kind == "word"}
    beginnings = tuple(term.stem for term in terms if term.kind == "prefix")
    literals = [term.raw for term in terms if term.kind == "literal"]
    spans = tokenizer.spans(text)
    bytes_at = [start for start, _, stem in spans if stem in stems]
    if beginnings:
        bytes_at += [start for start, _, stem in spans if stem.startswith(beginnings)]
        bytes_at = sorted(set(bytes_at))
    places = bytes_at if text.isascii() else _characters(text.encode(), bytes_at)
    places += [at for literal in literals if (at := text.find(literal)) >= 0]
    return sorted(places)


def _characters(encoded: bytes, bytes_at: Sequence[int]) -> list[int]:
    """Places in characters of ascending places in bytes."""
    places: list[int] = []
    byte = character = 0
    for at in bytes_at:
        character += len(encoded[byte:at].decode())
        byte = at
        places.append(character)
    return places


def _start(places: list[int], length: int, chars: int) -> int:
    """Where a window with the most terms starts, the earliest of those."""
    if not places:
        return 0
    lead = chars // 5
    best, best_count, end = places[0], 0, 0
    for n, place in enumerate(places):
        while end < len(places) and places[end] < place + chars - 2 * lead:
            end += 1
        if end - n > best_count:
            best, best_count = place, end - n
    return max(0, min(best - lead, length - chars))


def _at_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends inwards to white space, where there is some near."""
    if start and (space := text.find(" ", start, start + 24)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 24, end)) > start:
        end = space
    return start, end
