"""How a sync tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, str, int, int], None]
"""Called with (phase, kind, done, of): rows for a push, change sequences for a pull."""


def silent(phase: str, kind: str, done: int, of: int) -> None:
    """A `Progress` that shows nothing."""
