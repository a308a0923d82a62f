"""A thread that gives queued memories their vectors while an MCP session lasts."""

from __future__ import annotations

import logging
import threading

from satchel.embedding.queue import drain
from satchel.errors import SatchelError
from satchel.replica import Replica

CLOSE_TIMEOUT_S = 5
_log = logging.getLogger(__name__)


class Drainer:
    """Drains the queue at the start and after each call; a stop waits for one batch at most."""

    def __init__(self, replica: Replica) -> None:
        """`replica` may be used beside: each thread has its own connection."""
        self._replica = replica
        self._work = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drainer", daemon=True)

    def start(self) -> None:
        """Begin, where there is an engine; without one there is nothing to do."""
        if self._replica.embedding_state in ("warm", "cold"):
            self._work.set()
            self._thread.start()

    def wake(self) -> None:
        """There may be new work."""
        self._work.set()

    def close(self) -> None:
        """Stop; a batch that is under way stays in the queue if it takes too long."""
        self._ended.set()
        self._work.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        while self._work.wait() and not self._ended.is_set():
            self._work.clear()
            try:
                drain(self._replica, stopped=self._ended.is_set)
            except SatchelError as error:
                # The queue is durable: the next process that can goes on. Doctor shows its length.
                _log.warning("the embedding queue rests: %s", error)
                return
