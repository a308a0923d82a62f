"""What a transcript holds: turns, flat and the same for every host, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
FaultCode = Literal[
    "broken_json", "unfinished", "not_object", "line_too_long", "not_utf8", "bad_text"
]
MENDED: frozenset[FaultCode] = frozenset({"not_utf8", "bad_text"})
"""Faults whose line was read all the same; its bad characters became U+FFFD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that was said, or one call of a tool. Times are UTC ms, `cost` is US dollars.

    `content` is as the host wrote it: secrets are still in it. Where `kept_chars_max` is set, only
    so much of it is worth keeping, to be cut after secrets were replaced. `tokens_in` counts all
    that the model read, cached or not; `metadata` says how much of it was cached.
    """

    conversation_id: str
    role: Role
    content: str = field(repr=False)
    said_at: int | None
    host_agent: str
    line: int
    provider: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    kept_chars_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line that was not read, or only mended. `message` never quotes it."""

    line: int
    code: FaultCode
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A transcript as it was read: turns in the order of the file."""

    host: str
    turns: tuple[Turn, ...]
    faults: tuple[Fault, ...]

    @property
    def conversations(self) -> list[str]:
        """The conversations in it, each once: the main one, then those of sub-agents."""
        return list(dict.fromkeys(turn.conversation_id for turn in self.turns))
