"""The replica that the sessions of one server share, opened by the first call that needs it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from satchel.mcp_server.drainer import Drainer
from satchel.replica import Replica, caller_of, open_replica

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.memory.visibility import Caller

CALLERS_MAX = 256
"""Callers whose view is kept at hand; the longest unused one goes first."""


class Household:
    """One open replica and its drainer, seen by each caller as its own."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: Replica | None = None
        self._drainer: Drainer | None = None
        self._views: OrderedDict[Caller, Replica] = OrderedDict()

    def replica(self, settings: Settings) -> Replica:
        """The replica as the caller of these settings sees it. Raises what opening raises."""
        caller = caller_of(settings)
        with self._lock:
            if self._opened is None:
                self._opened = open_replica(self._settings)
                self._drainer = Drainer(self._opened)
                self._drainer.start()
            view = self._views.get(caller) or self._opened.seen_as(settings)
            self._views[caller] = view
            self._views.move_to_end(caller)
            if len(self._views) > CALLERS_MAX:
                self._views.popitem(last=False)
            return view

    def wrote(self) -> None:
        """There may be texts that want a vector."""
        if self._drainer is not None:
            self._drainer.wake()

    def close(self) -> None:
        """Close the replica, if it was opened; a later call would open it again."""
        with self._lock:
            opened, drainer = self._opened, self._drainer
            self._opened = self._drainer = None
            self._views.clear()
        if drainer is not None:
            drainer.close()
        if opened is not None:
            opened.close()
