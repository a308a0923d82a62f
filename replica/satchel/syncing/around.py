"""What a machine does around its sync: sum up sessions before, embed what waits after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError
from satchel.replica import Replica, caller_of
from satchel_sync.progress import Progress

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store

EMBED_S = 10
"""After a sync no further batch of texts is embedded when so many seconds have passed."""


def sum_up(store: Store, settings: Settings) -> dict[str, Any]:
    """Summaries of sessions that were abandoned, or that got more rows by the last sync."""
    from satchel.memory.sessions import sessions

    return sessions.sweep(Replica(store, settings, caller_of(settings)))


def embed(
    store: Store, settings: Settings, progress: Progress, *, limit_s: float = EMBED_S
) -> dict[str, Any]:
    """Drain the queues where the engine loads quickly: texts done and left, `error` if it broke."""
    from satchel.embedding import queue

    replica = Replica(store, settings, caller_of(settings))
    told: dict[str, Any] = {"done": 0}
    if replica.embedding_state == "warm":
        try:
            drained = queue.drain(
                replica,
                limit_s=limit_s,
                quick=True,
                progress=lambda done, left: progress("embedding", "texts", done, done + left),
            )
            told["done"] = drained.done
        except SatchelError as error:  # the sync itself is done, and what is queued stays queued
            told["error"] = f"{error.code}: {error}"
    return told | {"left": queue.waiting(replica)}
