"""Calls that wait for a message or a task to come: how many at once, in all and of a caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from satchel.errors import Refused

if TYPE_CHECKING:
    from satchel.memory.visibility import Caller

AT_ONCE = 64
"""Each is a thread with a connection to the store. Those beyond wait for a place."""
OF_ONE_CALLER = 8
"""So nobody takes all places. One beyond is refused at once: a loop needs one or two."""


class Waits:
    """The waits of one server. Used by its event loop only."""

    def __init__(self) -> None:
        self._places = anyio.CapacityLimiter(AT_ONCE)
        self._of: Counter[Caller] = Counter()

    @contextmanager
    def of(self, caller: Caller) -> Iterator[anyio.CapacityLimiter]:
        """The limiter under which one more wait of this caller runs. Raises Refused."""
        if self._of[caller] >= OF_ONE_CALLER:
            raise Refused(
                f"{OF_ONE_CALLER} calls of this caller wait already",
                hint="let one of them end first: one call can wait for all that comes",
                field="wait",
            )
        self._of[caller] += 1
        try:
            yield self._places
        finally:
            self._of[caller] -= 1
            self._of += Counter()  # those that wait no more are not kept
