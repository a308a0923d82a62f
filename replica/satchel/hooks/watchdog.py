"""The end of a hook's patience: after so long the process ends, well and without a word."""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE_S = 1.0
"""How long the end waits for an answer that is being written, or for its being late to be kept."""


class Watchdog:
    """Ends the process when its time is over, whatever the main thread is in, unless called off.

    A thread of its own, not a signal: those wait for the main thread, which may never come back.
    """

    def __init__(self, limit_ms: int, late: Callable[[int], object]) -> None:
        """`late` is called with the limit before the end, if no answer was given by then."""
        self._began_s, self._late = time.monotonic(), late
        self._answered = False
        self._speaking = _thread.allocate_lock()
        self._called_off = self._watching(limit_ms)

    def limit(self, limit_ms: int) -> None:
        """From the start on it may take so long, and no longer what was said before."""
        former, self._called_off = self._called_off, self._watching(limit_ms)
        former.release()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the answer is written: it goes out whole or not at all."""
        with self._speaking:
            yield
            self._answered = True

    def call_off(self) -> None:
        """From now on nobody is ended. To be called once."""
        self._called_off.release()

    def _watching(self, limit_ms: int) -> _thread.LockType:
        """Watch until the lock that is returned is released."""
        called_off = _thread.allocate_lock()
        called_off.acquire()
        _thread.start_new_thread(self._watch, (called_off, limit_ms))
        return called_off

    def _watch(self, called_off: _thread.LockType, limit_ms: int) -> None:
        left_s = self._began_s + limit_ms / 1000 - time.monotonic()
        if called_off.acquire(timeout=max(left_s, 0.0)):
            return
        # Who takes no answer, and a disk that does not, may not keep the process either.
        self._speaking.acquire(timeout=GRACE_S)
        if not self._answered:
            told = _thread.allocate_lock()
            told.acquire()
            _thread.start_new_thread(self._tell, (told, limit_ms))
            told.acquire(timeout=GRACE_S)
        os._exit(0)

    def _tell(self, told: _thread.LockType, limit_ms: int) -> None:
        try:
            self._late(limit_ms)
        finally:
            told.release()


_armed: list[Watchdog] = []
"""The one of this process, if it is a hook's."""


@contextmanager
def armed(limit_ms: int, late: Callable[[int], object]) -> Iterator[None]:
    """A process ends by itself, after so long, for as long as this lasts."""
    dog = Watchdog(limit_ms, late)
    _armed.append(dog)
    try:
        yield
    finally:
        _armed.pop()
        dog.call_off()


def limit(limit_ms: int) -> None:
    """What the settings say of the time that a hook has, once they are known."""
    for dog in _armed:
        dog.limit(limit_ms)


@contextmanager
def answering() -> Iterator[None]:
    """While the answer of a hook is written: it goes out whole or not at all."""
    if not _armed:
        yield
        return
    with _armed[-1].answering():
        yield
