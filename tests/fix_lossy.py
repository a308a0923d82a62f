"""A hub behind a bad network: requests are lost before it, answers after it has committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from satchel_sync.errors import HubUnreachable
from satchel_sync.ports import Hub

CALLS = frozenset(name for name in vars(Hub) if not name.startswith("_"))


@dataclass
class LossyHub:
    """Forwards to a hub until call number `break_at`; that call's request or answer is lost.

    `meanwhile` is called with the number of each call while its answer is on the way.
    """

    hub: Hub
    break_at: int
    answer_lost: bool
    meanwhile: Callable[[int], None] = lambda _: None
    calls: int = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in CALLS:
            raise AttributeError(name)
        return lambda *given: self._call(name, given)

    def _call(self, name: str, given: tuple[Any, ...]) -> Any:
        self.calls += 1
        breaks = self.calls == self.break_at
        if breaks and not self.answer_lost:
            raise HubUnreachable(f"request {name} was lost")
        answer = getattr(self.hub, name)(*given)
        self.meanwhile(self.calls)
        if breaks:
            raise HubUnreachable(f"answer to {name} was lost")
        return answer
