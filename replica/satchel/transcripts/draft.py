"""A turn while its file is read: what later lines say of it (tokens, cost) is still added."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from satchel.hooks.block import without_blocks
from satchel.transcripts.pick import Object, compact, identity, whole
from satchel.transcripts.turn import Role, Turn

TOOL_CHARS_KEPT = 2_000
"""Of a tool's call or result: it shows what was done; the files that passed through it do not."""
TOOL_CHARS_READ = 8 * TOOL_CHARS_KEPT
"""More is read than kept, so that no secret is cut in two before it is seen."""


@dataclass(slots=True, kw_only=True)
class Usage:
    """Tokens and dollars of one answer of a model. `read` counts cached tokens too."""

    read: int = 0
    written: int = 0
    cached: int = 0
    cache_written: int = 0
    cost: float | None = None

    def add(self, other: Usage) -> None:
        """Sum both up."""
        self.read += other.read
        self.written += other.written
        self.cached += other.cached
        self.cache_written += other.cache_written
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def raise_to(self, other: Usage) -> None:
        """The larger of both: a host repeats an answer's usage, and it only grows."""
        self.read, self.written = max(self.read, other.read), max(self.written, other.written)
        self.cached = max(self.cached, other.cached)
        self.cache_written = max(self.cache_written, other.cache_written)
        if other.cost is not None:
            self.cost = max(self.cost or 0.0, other.cost)


@dataclass(slots=True, kw_only=True)
class Draft:
    """A turn in the making."""

    conversation: str
    role: Role
    text: str
    line: int
    said_at: int | None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    kept_chars_max: int | None = None

    def turn(self, host: str) -> Turn:
        """The turn as it stands now."""
        usage = self.usage or Usage()
        counted = {"cached": usage.cached, "cache_written": usage.cache_written}
        return Turn(
            conversation_id=self.conversation,
            role=self.role,
            content=self.text,
            said_at=self.said_at,
            host_agent=host,
            line=self.line,
            provider=self.provider,
            model=self.model,
            tokens_in=usage.read if self.usage else None,
            tokens_out=usage.written if self.usage else None,
            cost=usage.cost,
            metadata=self.metadata | {name: n for name, n in counted.items() if n},
            kept_chars_max=self.kept_chars_max,
        )


def said(text: str) -> str:
    """The text of a turn, without what recall had put into it and white space around it."""
    return without_blocks(text).strip()


def tool_text(name: str, arguments: object) -> str:
    """A call of a tool in one line: its name and what it was given."""
    shown = arguments if isinstance(arguments, str) else compact(arguments)
    return f"{name} {shown}".strip()[:TOOL_CHARS_READ]


def is_ours(*names: str) -> bool:
    """Whether a tool of these names (its own, its server's) is one of satchel's."""
    return any("satchel" in name.lower() for name in names)


def tool_metadata(called: str | None, call: object) -> Object:
    """What a tool's turn says about itself: its name, and the id that call and result share."""
    said_of = {"tool": called, "call": identity(call)}
    return {key: value for key, value in said_of.items() if value}


def counted(said_of: Object, *names: str) -> int:
    """The sum of these counts, 0 for what is absent or no count."""
    return sum(whole(said_of.get(name)) or 0 for name in names)
