"""A turn of a transcript made fit to be kept: secrets replaced, long text cut into parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from satchel.memory import text
from satchel.memory.guard import Mode, guarded
from satchel.memory.limits import TEXT_BYTES_MAX, TIME_MS_MAX, TIME_MS_MIN
from satchel.redaction import redact

if TYPE_CHECKING:
    from satchel.transcripts.turn import Turn

CONTENT_CHARS_MAX = 64 * TEXT_BYTES_MAX
"""A longer turn is no turn."""
COUNTS = ("tokens_in", "tokens_out", "cost")
_NAMES = ("host_agent", "provider", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is stored of a turn, or of a part of a long one. `columns` are the others.

    Of a turn that is familiar they are not all there: `raw` is what they are made of.
    """

    role: str
    content: str = field(repr=False)
    said_at: int | None
    columns: dict[str, Any] = field(repr=False)
    raw: Turn | None = field(default=None, repr=False)


def conversation_name(conversation: str) -> str:
    """The conversation's name as it is stored. Raises InvalidInput."""
    return text.name(redact(conversation).text, "conversation_id")


def familiar(turn: Turn, stored: Collection[bytes]) -> Said | None:
    """The turn as it is stored already (in UTF-8), if that is just what the host wrote.

    Then it holds no secret, and need not be searched for one: of a long session at every call.
    """
    content = _cut(turn.content, turn)
    if not stored or content.encode("utf-8", "replace") not in stored:
        return None
    columns = {name: getattr(turn, name) for name in COUNTS}
    return Said(role=turn.role, content=content, said_at=said_at(turn), columns=columns, raw=turn)


def whole(said: Said, mode: Mode) -> Said:
    """The same with all columns."""
    return said if said.raw is None else cleaned(said.raw, mode)[0]


def cleaned(turn: Turn, mode: Mode) -> list[Said]:
    """The turn without its secrets, in parts where it is longer than a turn may be.

    `mode` is the setting `chatlog.secrets`. Raises Refused where that says so, InvalidInput.
    """
    metadata = text.json_object(turn.metadata) if turn.metadata else None
    content = text.optional_text(turn.content, "content", CONTENT_CHARS_MAX)
    told = {"content": content or "", "metadata": metadata}
    clean = guarded(mode, "chatlog.secrets", told)
    content = _cut(clean.columns["content"], turn)
    columns: dict[str, Any] = {name: _name(getattr(turn, name)) for name in _NAMES}
    columns |= {name: getattr(turn, name) for name in COUNTS}
    columns |= {"metadata": clean.columns["metadata"], "redactions": clean.redactions}
    counted_once = dict.fromkeys((*COUNTS, "redactions"))
    return [
        Said(
            role=turn.role,
            content=part,
            said_at=said_at(turn),
            columns=columns if number == 0 else columns | counted_once,
        )
        for number, part in enumerate(_parts(content))
        if part.strip()
    ]


def said_at(turn: Turn) -> int | None:
    """When it was said, as it can be stored."""
    at = turn.said_at
    return at if at is not None and TIME_MS_MIN <= at <= TIME_MS_MAX else None


def _cut(content: str, turn: Turn) -> str:
    most = turn.kept_chars_max
    return content if most is None or len(content) <= most else content[:most] + "…"


@lru_cache(maxsize=256)
def _name(given: str | None) -> str | None:
    return redact(given).text if given else None


def _parts(content: str) -> Iterator[str]:
    """Texts of at most TEXT_BYTES_MAX bytes of UTF-8 that make up the content."""
    most = TEXT_BYTES_MAX // 4  # a character has at most four bytes
    if len(content.encode()) <= TEXT_BYTES_MAX:
        yield content
        return
    for start in range(0, len(content), most):
        yield content[start : start + most]
