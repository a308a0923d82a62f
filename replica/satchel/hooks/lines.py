"""Memories as the model reads them: a marked block, within a budget, each with its source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from satchel.hooks.answer import CONTEXT_CHARS_MAX
from satchel.hooks.block import CLOSE, HEAD, OPEN, harmless, wrap
from satchel.memory.limits import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from satchel.memory.search.hits import Hit

ID_CHARS: Final = 12
"""Of an id's end: it is random, and every tool takes eight digits or more of it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Shown(NamedTuple):
    """The block, the memories in it, and what it costs (tokens, at four characters each)."""

    text: str
    hits: list[Hit]
    tokens: int


def shown(hits: Sequence[Hit], max_tokens: int) -> Shown:
    """The best of `hits` that fit; nothing at all when not even the first one does."""
    most = min(max_tokens * CHARS_PER_TOKEN, CONTEXT_CHARS_MAX)
    used = len(HEAD) + len(OPEN) + len(CLOSE) + 2
    lines: list[str] = []
    for hit in hits:
        line = harmless(_line(hit))
        if used + len(line) + 1 > most:
            break
        lines.append(line)
        used += len(line) + 1
    if not lines:
        return Shown("", [], 0)
    text = wrap("\n".join([HEAD, *lines]))
    return Shown(text, list(hits[: len(lines)]), -(-len(text) // CHARS_PER_TOKEN))


def _line(hit: Hit) -> str:
    """`- TITLE: TEXT (decision, 2026-11-30, by planner, space alpha, source notes.md, id …)`."""
    said = [
        hit.type,
        _day(hit.valid_from or hit.recorded_at),
        hit.agent_id and f"by {hit.agent_id}",
        hit.space and f"space {hit.space}",
        hit.source and f"source {hit.source}",
        f"id {hit.id[-ID_CHARS:]}",
    ]
    title = f"{hit.title}: " if hit.title and hit.title not in hit.snippet else ""
    text = f"- {title}{hit.snippet} ({', '.join(one for one in said if one)})"
    return " ".join(text.split())


def _day(time_ms: int | None) -> str | None:
    try:
        return None if time_ms is None else f"{_EPOCH + timedelta(milliseconds=time_ms):%Y-%m-%d}"
    except (OverflowError, ValueError):  # written by hand: a time that no calendar has
        return None
