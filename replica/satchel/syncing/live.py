"""A machine that stays in touch with its warehouse: turn by turn, on one open connection.

For `satchel sync --every 2s`. The rules are `satchel_sync.live`; here are the store, the lock that
other syncs of this file wait for, the vectors of new texts, and how a write of another process is
noticed (`PRAGMA data_version`: no page is read, nobody waits).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from satchel import peers
from satchel.audit.outbox import AuditOutbox
from satchel.errors import SatchelError
from satchel.store import outbox
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel.syncing import around
from satchel_sync.errors import SyncBusy
from satchel_sync.live import ALL_SEQS, Live
from satchel_sync.progress import Progress, silent

if TYPE_CHECKING:
    from satchel.config import Settings

EMBED_S = 1
"""So long at most new texts are embedded between two turns: what others wrote waits meanwhile."""


@dataclass(slots=True)
class Opened:
    """What is open between two turns, and what the attempt did beside the sync itself."""

    store: Store
    live: Live
    closing: ExitStack
    data_version: int = 0
    wants_vectors: bool = True
    swept: dict[str, Any] = field(default_factory=dict)
    embedded: dict[str, Any] = field(default_factory=dict)


class LiveSync:
    """The sync of one replica, turn by turn. Seconds are a steady clock's.

    Store and warehouse are opened by the first turn, and closed by any error: the next turn begins
    with nothing.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Opened | None = None

    def turn(self, now_s: float, progress: Progress = silent) -> dict[str, Any] | None:
        """Move what there is to move; the report of an attempt that came to its end.

        While another sync of this file runs, nothing happens: that one moves all. Raises what
        `peers.sync_once` does.
        """
        try:
            opened = self._opened or self._open()
            lock = peers.one_sync(self._settings.home, patience_s=0)
            with lock, peers.loud(opened.store):
                report = opened.live.turn(now_s, progress)
            if opened.live.began:
                opened.swept = around.sum_up(opened.store, self._settings)
            self._embed(opened, progress)
            return self._whole(opened, report)
        except SyncBusy:
            return None
        except BaseException:
            self.close()
            raise

    def end(self, now_s: float) -> dict[str, Any] | None:
        """Close the attempt, if one is open, with its report."""
        opened = self._opened
        if opened is None:
            return None
        try:
            with peers.one_sync(self._settings.home):
                report = opened.live.end(now_s)
            return self._whole(opened, report)
        except SyncBusy:
            return None

    def written(self) -> bool:
        """Whether another process wrote something that waits, since this was last asked.

        True as well where the file cannot be read any more: the next turn says why.
        """
        opened = self._opened
        if opened is None:
            return False
        try:
            with opened.store.read() as db:
                version = int(db.execute("PRAGMA data_version").get)
                if version == opened.data_version:
                    return False
                opened.data_version = version
                return bool(outbox.waiting(db, ALL_SEQS))
        except SatchelError:
            self.close()
            return True

    def close(self) -> None:
        """Close connection and store. An attempt that is open stays so, as after a kill."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.closing.close()

    def _open(self) -> Opened:
        with ExitStack() as opening:
            hub = opening.enter_context(peers.hub_of(self._settings))
            store = opening.enter_context(peers.opened(self._settings))
            audit = AuditOutbox(store, self._settings)
            replica = SqliteReplica(store, version=peers.version(), audit=audit)
            live = Live(replica, hub, SYSTEM_CLOCK)
            self._opened = Opened(store, live, opening.pop_all())
        return self._opened

    def _embed(self, opened: Opened, progress: Progress) -> None:
        """Make vectors for a moment where nothing moves; they travel with the next turn."""
        if opened.live.moved:
            opened.wants_vectors = True
        elif opened.wants_vectors:
            told = around.embed(opened.store, self._settings, progress, limit_s=EMBED_S)
            done = int(told["done"]) + int(opened.embedded.get("done", 0))
            opened.wants_vectors = bool(told["done"] and told["left"])
            opened.embedded = told | {"done": done}

    def _whole(self, opened: Opened, report: dict[str, Any] | None) -> dict[str, Any] | None:
        if report is None:
            return None
        beside = {"sessions": opened.swept, "embedding": opened.embedded}
        opened.swept, opened.embedded = {}, {}
        return report | beside | peers.standing(opened.store)
