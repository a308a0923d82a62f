"""A limit on what one call does at the store: told to stop, it commits nothing more.

A call runs in a thread, under a `Limit` of its context. Whoever stops it interrupts the SQL that it
runs; what it had not committed is rolled back. So "it was stopped" is the truth when it is said.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal

from satchel.errors import TimedOut

if TYPE_CHECKING:
    import apsw

INTERRUPT_EACH_S = 0.01
"""An interrupt ends the statement that runs now; the next one may begin right after it."""
INTERRUPT_FOR_S = 30.0

State = Literal["going", "committing", "stopped", "done"]


class Limit:
    """What may stop one call. `commits` counts what it has made durable."""

    def __init__(self, still_allowed: Callable[[], None] | None = None) -> None:
        """`still_allowed` raises once the caller may go on no more: a token can be revoked."""
        self._still_allowed = still_allowed
        self._lock = threading.Lock()
        self._state: State = "going"
        self._wanted = False
        self._db: apsw.Connection | None = None
        self._ended = threading.Event()
        self.commits = 0

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._wanted

    def stop(self) -> State:
        """Tell the call to stop. `stopped`: nothing of it is committed from now on.

        `committing`: the commit under way may still succeed, and is the last one; `done`: too late.
        """
        with self._lock:
            if self._state in ("done", "stopped"):
                return self._state
            self._wanted = True
            if self._state == "committing":
                return "committing"
            self._state = "stopped"
        threading.Thread(target=self._interrupt, name="stopping", daemon=True).start()
        return "stopped"

    def finish(self) -> None:
        """The call has ended; its connection serves another one now."""
        with self._lock:
            self._state, self._db = "done", None
        self._ended.set()

    def wait(self, timeout_s: float) -> bool:
        """Whether the call has ended, within a time."""
        return self._ended.wait(timeout_s)

    def check(self) -> None:
        """Raise TimedOut when the call was told to stop."""
        if self._wanted:
            raise TimedOut("the call was stopped")

    def ask(self) -> None:
        """Raise TimedOut when the call was told to stop, or why its caller may not go on."""
        self.check()
        if self._still_allowed is not None:
            self._still_allowed()

    def uses(self, db: apsw.Connection) -> None:
        """The call is about to run SQL on `db`. Raises TimedOut."""
        with self._lock:
            self.check()
            self._db = db

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Around a commit: it is not begun once the call was stopped. Raises TimedOut."""
        with self._lock:
            self.check()
            self._state = "committing"
        try:
            yield
            self.commits += 1
        finally:
            with self._lock:
                self._state = "stopped" if self._wanted else "going"

    def _interrupt(self) -> None:
        until = time.monotonic() + INTERRUPT_FOR_S
        while not self._ended.wait(INTERRUPT_EACH_S) and time.monotonic() < until:
            with self._lock:
                if self._db is not None:
                    _interrupt(self._db)


def _interrupt(db: apsw.Connection) -> None:
    import apsw

    with suppress(apsw.ConnectionClosedError):  # the store was closed meanwhile
        db.interrupt()


CURRENT: ContextVar[Limit | None] = ContextVar("satchel_limit", default=None)
"""The limit of the call in this context, where there is one."""


def check() -> None:
    """For loops that wait or compute for long: raise TimedOut when the call was told to stop."""
    limit = CURRENT.get()
    if limit is not None:
        limit.check()


def ask() -> None:
    """Before each look of a call that waits: raise when it was stopped, or its caller shut out."""
    limit = CURRENT.get()
    if limit is not None:
        limit.ask()


@contextmanager
def committing() -> Iterator[None]:
    """`Limit.committing` of the present limit."""
    limit = CURRENT.get()
    if limit is None:
        yield
        return
    with limit.committing():
        yield
