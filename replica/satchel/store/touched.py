"""What the write transaction of this thread touched, noted where it happens, for who audits it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import apsw

TOOL: ContextVar[str | None] = ContextVar("tool", default=None)
"""The tool that is being called, where a tool was."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A row and what became of it: `created`, `updated`, `deleted`, `restored`, `forgotten`, …"""

    action: str
    kind: str
    key: str


@dataclass(slots=True)
class Notes:
    """What was noted since the transaction began.

    `told` is of a sync or a bundle: (`synced`, `exported`; what it did, ids and numbers); `stamps`
    are the least and the highest hlc that rows got here.
    """

    rows: list[Touched] = field(default_factory=list)
    told: tuple[str, Mapping[str, str | int]] | None = None
    stamps: tuple[int, int] | None = None

    def taken(self) -> Sequence[Touched]:
        """The rows noted so far, which are noted no more."""
        rows, self.rows = self.rows, []
        return rows


class Auditor(Protocol):
    """Who keeps the audit of a store."""

    def append(
        self,
        db: apsw.Connection,
        now_ms: int,
        actor: str | None,
        by_hand: Sequence[Touched],
        notes: Notes,
    ) -> None:
        """Record what this transaction did, inside it; it is not committed when this raises.

        `by_hand` was written by others than the program since the transaction before.
        """
        ...


class _Noting(threading.local):
    notes: Notes | None = None


_noting = _Noting()


@contextmanager
def noting() -> Iterator[Notes]:
    """Notes of a transaction of this thread, while it lasts."""
    outer, notes = _noting.notes, Notes()
    _noting.notes = notes
    try:
        yield notes
    finally:
        _noting.notes = outer


def note(action: str, kind: str, keys: Iterable[str]) -> None:
    """Rows that the present transaction touched; outside of one nobody wants to know."""
    if _noting.notes is not None:
        _noting.notes.rows += [Touched(action, kind, key) for key in keys]


def note_stamps(hlcs: Sequence[int]) -> None:
    """The hlc of rows that this replica stamped, and that the present transaction sealed."""
    notes = _noting.notes
    if notes is not None and hlcs:
        first, last = min(hlcs), max(hlcs)
        held = notes.stamps or (first, last)
        notes.stamps = (min(first, held[0]), max(last, held[1]))


def tell(action: str, told: Mapping[str, str | int]) -> None:
    """That the present transaction ends a sync (`synced`), or a bundle that leaves (`exported`)."""
    if _noting.notes is not None:
        _noting.notes.told = (action, told)
