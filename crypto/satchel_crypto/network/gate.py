"""How a path is opened: for the body of a `with`, after the check, in this context only.

A path is open in the context that opened it and in every copy of that context (tasks of asyncio,
worker threads of anyio and `asyncio.to_thread`). A bare thread has a context of its own: it opens
its path itself. When the body ends the path is closed in all copies. A generator has its caller's
context: it must not yield inside the body, or the path is open in whoever called it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from satchel_crypto.errors import NetworkRefused
from satchel_crypto.network.paths import PATHS, NetworkPath
from satchel_crypto.network.policy import Policy, check
from satchel_crypto.network.target import Target, addresses_of, canonical, is_address


class Opening:
    """One path while it is open, and the places it may lead to."""

    __slots__ = ("_addresses", "live", "path", "targets")

    def __init__(self, path: NetworkPath, targets: tuple[Target, ...]) -> None:
        self.path = path
        self.targets = targets
        self.live = True
        self._addresses: dict[Target, frozenset[str]] = {}

    def leads_to(self, host: object, port: object) -> bool:
        """Whether that is a target of this path, by its name or one of its addresses."""
        asked = canonical(host)
        return any(port == one.port and self._is_at(asked, one) for one in self.targets)

    def names(self, host: object) -> bool:
        """Whether that is a target's own name or one of its addresses: it may be looked up."""
        asked = canonical(host)
        if is_address(asked):
            return any(self._is_at(asked, one) for one in self.targets)
        return any(asked == canonical(one.host) for one in self.targets if one.host)

    def _is_at(self, asked: str, target: Target) -> bool:
        if not asked or not target.host:
            return False
        if asked == canonical(target.host) or asked in self._addresses.get(target, ()):
            return True
        if not is_address(asked):
            return False
        found = addresses_of(target)  # again: a name may stand for another address by now
        self._addresses[target] = self._addresses.get(target, frozenset()) | found
        return asked in found


_opening: ContextVar[Opening | None] = ContextVar("satchel_network_opening", default=None)
_live: set[Opening] = set()


@contextmanager
def open(path: str, *targets: Target, policy: Policy | None) -> Iterator[None]:  # noqa: A001
    """Open `path` to each of `targets` for the body. Raises NetworkRefused, FipsRefused.

    When it raises no socket was opened and no name was looked up.
    """
    if not targets:
        raise NetworkRefused(f"network path {path!r} stays closed: it has no target")
    for target in targets:
        check(path, target, policy)
    opening = Opening(PATHS[path], targets)
    token = _opening.set(opening)
    _live.add(opening)
    try:
        yield
    finally:
        opening.live = False
        _live.discard(opening)
        _opening.reset(token)


def opening() -> Opening | None:
    """What is open in this context, or None."""
    found = _opening.get()
    return found if found is not None and found.live else None


def openings() -> tuple[Opening, ...]:
    """What is open anywhere in this process."""
    return tuple(_live)


def current() -> str | None:
    """The name of the path that is open in this context, or None."""
    found = opening()
    return found.path.name if found else None


def require_open(path: str) -> None:
    """For code that opens its sockets in C, where no hook sees them. Raises NetworkRefused."""
    if current() != path:
        raise NetworkRefused(
            f"network path {path!r} is not open here",
            hint="connect inside `network.open(path, target, policy=…)`",
        )
