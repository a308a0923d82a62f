"""Finding secrets in a text and replacing each by `[redacted: kind]`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from satchel.redaction.pattern import SOLID_CHARS_MIN, WALL, compiled
from satchel.redaction.patterns import PATTERNS

_MARK = r"\[redacted: [A-Za-z ]{1,40}\]"
_MARK_HEAD = "[redacted: "


@dataclass(frozen=True, slots=True)
class Finding:
    """What kind of secret stands at `start` to `end` (characters) of the text; not the secret."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and where in the text that was given they stood."""

    text: str = field(repr=False)
    found: tuple[Finding, ...]

    @property
    def kinds(self) -> list[str]:
        """The kinds that were found, each once, in the order of the text."""
        return list(dict.fromkeys(one.kind for one in self.found))


def redact(text: str) -> Redacted:
    """The text with each secret replaced. To redact its answer again changes nothing."""
    found = find(text)
    if not found:
        return Redacted(text, ())
    clean = _replaced(text, found, lambda one: f"{_MARK_HEAD}{one.kind}]")
    return Redacted(clean, tuple(found))


def kinds(text: str) -> list[str]:
    """The kinds of secrets in a text, each once."""
    return list(dict.fromkeys(one.kind for one in find(text)))


def find(text: str) -> list[Finding]:
    """The secrets in a text, in order, none over another.

    What was found becomes a wall, and the text is searched again until nothing more is found: a
    secret may be hidden by the one beside it.
    """
    left = _behind_walls(text)
    found: list[Finding] = []
    while new := _merged(_every(left)):
        found += new
        left = _replaced(left, new, lambda one: WALL * (one.end - one.start))
    return sorted(found, key=lambda one: one.start)


def _replaced(text: str, found: list[Finding], by: Callable[[Finding], str]) -> str:
    parts, at = list[str](), 0
    for one in found:
        parts += [text[at : one.start], by(one)]
        at = one.end
    return "".join([*parts, text[at:]])


def _behind_walls(text: str) -> str:
    """The text with a wall over each mark that stands in it already."""
    if _MARK_HEAD not in text:
        return text
    return compiled(_MARK).sub(lambda mark: WALL * len(mark.group()), text)


def _every(text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, row of the table) of all that is found, in any order."""
    # Of all characters only İ gets longer in lower case, and positions must not move.
    lowered = text.replace("\u0130", "i").lower()
    solid = _solid(text)
    for index, sought, within in (
        (_PLAIN, text, text),
        (_FOLDED, lowered, lowered),
        (_SOLID, text, solid),
        (_SOLID_FOLDED, lowered, lowered if solid else ""),
    ):
        for literal, rows in index.items():
            if literal in within:
                for row in rows:
                    pattern = PATTERNS[row]
                    if pattern.also in text:
                        spans = pattern.spans(text, sought, literal)
                        yield from ((start, end, row) for start, end in spans)


def _solid(text: str) -> str:
    """The long runs of ASCII in a text: in prose there are none, and most of the table is done."""
    if not text.isascii():
        text = text.encode("ascii", "replace").decode("ascii").replace("?", " ")
    return " ".join([word for word in text.split() if len(word) >= SOLID_CHARS_MIN])


def _index(*, folded: bool, solid: bool) -> dict[str, list[int]]:
    """Literal -> rows of the table that it announces."""
    found: dict[str, list[int]] = {}
    for row, pattern in enumerate(PATTERNS):
        if (pattern.folded, pattern.solid) == (folded, solid):
            for literal in pattern.literals:
                found.setdefault(literal, []).append(row)
    return found


_PLAIN = _index(folded=False, solid=False)
_FOLDED = _index(folded=True, solid=False)
_SOLID = _index(folded=False, solid=True)
_SOLID_FOLDED = _index(folded=True, solid=True)


def _merged(spans: Iterable[tuple[int, int, int]]) -> list[Finding]:
    """One finding over those that overlap, of the kind that stands first in the table."""
    merged: list[tuple[int, int, int]] = []
    for start, end, row in sorted(spans):
        if merged and start < merged[-1][1]:
            before = merged[-1]
            merged[-1] = (before[0], max(before[1], end), min(before[2], row))
        else:
            merged.append((start, end, row))
    return [Finding(start, end, PATTERNS[row].kind) for start, end, row in merged]
