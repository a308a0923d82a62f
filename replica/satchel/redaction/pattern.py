"""One kind of secret: the literals that announce it, the shape around them, what it must hold.

A text is searched for the literals, and the shape is tried only where one stands. No shape has an
unbounded quantifier, so that each try costs a bounded time, and the whole grows with the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

WALL = "\0"
"""Stands for what was found before; no shape goes across it."""
STARTS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""Where a token may start: behind no ASCII letter or digit, but behind an escaped one (\\n, %20).
Scripts without spaces may stand beside it, so that `\\b` would not do."""
SOLID_CHARS_MIN = 15
TRIED_CHARS_MAX = 512
"""So much of a secret is matched by its shape; `tail` takes the rest."""
TRIES_MAX = 4
"""Tries inside one value without white space that held no secret; `key=key=key=…` would else cost
a look at 512 characters for each of its words."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pattern:
    """A row of the table. The secret is the group `secret` of the shape, or all of it.

    With `folded` the literals are sought in the text in lower case. A text without `also` has no
    such secret. A `solid` secret is a run of SOLID_CHARS_MIN or more printable ASCII characters; a
    solid row that is not folded has its literal in the same run. The shape is matched `before`
    characters ahead of the literal. `tail` is the class of characters that a secret without end
    goes on with. `holds` is asked last.
    """

    kind: str
    literals: tuple[str, ...]
    shape: str
    also: str = ""
    before: int = 0
    tail: str = ""
    folded: bool = False
    solid: bool = False
    holds: Callable[[re.Match[str]], bool] | None = None

    def spans(self, text: str, sought: str, literal: str) -> Iterator[tuple[int, int]]:
        """Where secrets of this kind stand; `sought` is the text, in lower case if folded."""
        at = sought.find(literal)
        tries, looked = 0, 0
        while at >= 0:
            found = self._match(text, at)
            behind = at + 1
            if found is not None and (self.holds is None or self.holds(found)):
                span = self._span(found)
                yield span
                behind = max(behind, span[1])
            elif found is not None and not _is_broken(found):
                tries = tries + 1 if at < looked else 1
                looked = max(looked, found.end())
                behind = max(behind, looked) if tries >= TRIES_MAX else behind
            at = sought.find(literal, behind)

    def _match(self, text: str, at: int) -> re.Match[str] | None:
        if at < self.before:
            return None
        return compiled(self.shape).match(text, at - self.before)

    def _span(self, found: re.Match[str]) -> tuple[int, int]:
        start, end = found.span(_group(found))
        if self.tail and end == found.end():
            rest = compiled(f"(?:{self.tail})*+").match(found.string, end)
            end = rest.end() if rest else end
        return start, end


def _group(found: re.Match[str]) -> str | int:
    return "secret" if "secret" in found.re.groupindex else 0


def _is_broken(found: re.Match[str]) -> bool:
    """Whether white space stands in the value: then other values may stand in it."""
    return compiled(r"\s").search(found.string, *found.span(_group(found))) is not None


@cache
def compiled(shape: str) -> re.Pattern[str]:
    """Compiled when it is first needed: all of them take 20 ms, most are never needed."""
    return re.compile(shape)


def token(
    kind: str,
    *prefixes: str,
    least: int,
    most: int = TRIED_CHARS_MAX,
    of: str = "[A-Za-z0-9]",
    holds: Callable[[re.Match[str]], bool] | None = None,
) -> Pattern:
    """A prefix, then `least` to `most` characters `of` a class; neither goes on on its side."""
    alternatives = "|".join(map(re.escape, prefixes))
    shape = rf"{STARTS}(?:{alternatives})(?:{of}){{{least},{most}}}+"
    return Pattern(
        kind=kind,
        literals=prefixes,
        solid=True,
        shape=shape if most == TRIED_CHARS_MAX else rf"{shape}(?!{of})",
        tail=of if most == TRIED_CHARS_MAX else "",
        holds=holds,
    )
