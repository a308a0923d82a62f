"""The audit hook that refuses every socket outside of an open path (PEP 578).

Python tells it of each socket that is made, bound or connected and of each name that is looked up,
whichever library does it. What a C library does by itself (libpq) it cannot see: such a library
has one door in the product, which asks the gate. It never comes off again in a process.

Let through are Unix sockets (a keyring speaks over one) and the socket pair that the standard
library makes of two loopback sockets where the system has none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel_crypto.errors import NetworkRefused

if TYPE_CHECKING:
    from types import FrameType

    from satchel_crypto.network.gate import Opening

KEPT_MAX = 100
_PROBE = "satchel.network.enforced"
_GATE = "satchel_crypto.network.gate"


class Refusal(NamedTuple):
    """What was refused: the event's name, and an address or a host name."""

    event: str
    what: str


_kept: list[Refusal] = []
_count = 0
_probed = 0


def enforce() -> None:
    """From now on no socket is opened outside of an open path. May be called again.

    Raises NetworkRefused where another audit hook keeps this one out.
    """
    if enforced():
        return
    sys.addaudithook(_hook)
    if not enforced():
        raise NetworkRefused(
            "the network cannot be kept closed: another audit hook keeps ours out",
            hint="start satchel in a process of its own",
        )


def enforced() -> bool:
    """Whether this process's sockets are watched."""
    before = _probed
    sys.audit(_PROBE)
    return _probed > before


def refusals() -> tuple[int, tuple[Refusal, ...]]:
    """How many attempts were refused in this process, and the first hundred of them."""
    return _count, tuple(_kept)


# ---- judges: None lets an event pass, a text says what was refused ------------------------------


def _made(arguments: tuple[Any, ...]) -> str | None:
    """`socket.__new__`: a socket that is never bound could still listen."""
    family, kind = arguments[1], arguments[2]
    if _is_unix(family) or (family == -1 and _was_there()):
        return None
    if _is_inet(family) and _is_plain(kind) and (_opening() or _of_a_pair()):
        return None
    return f"a socket of family {int(family)}, type {int(kind)}"


def _connected(arguments: tuple[Any, ...]) -> str | None:
    """`socket.connect`, `sendto`, `sendmsg`: (socket, address)."""
    family, address = _family(arguments[0]), arguments[1]
    if _is_unix(family) or address is None:
        return None
    opened = _opening()
    if opened and opened.path.direction == "out" and _leads(opened, family, address):
        return None
    if _of_a_pair() and address[0] in ("127.0.0.1", "::1"):
        return None
    return _shown(address)


def _bound(arguments: tuple[Any, ...]) -> str | None:
    """`socket.bind`: (socket, address)."""
    family, address = _family(arguments[0]), arguments[1]
    if _is_unix(family):
        return None
    opened = _opening()
    if opened and opened.path.direction == "serve" and _leads(opened, family, address):
        return None
    if _of_a_pair() and address[0] in ("127.0.0.1", "::1") and address[1] == 0:
        return None
    return _shown(address)


def _looked_up(arguments: tuple[Any, ...]) -> str | None:
    """`socket.getaddrinfo`, `gethostbyname`, `gethostbyaddr`, `getnameinfo`: (host or address, …).

    asyncio looks names up in threads without a context, so a path that is open anywhere counts:
    that its target is looked up tells nobody anything new.
    """
    host = arguments[0][0] if isinstance(arguments[0], tuple) else arguments[0]
    if any(one.names(host) for one in _openings()):
        return None
    return _shown(host)


def _probe(arguments: tuple[Any, ...]) -> str | None:
    global _probed
    _probed += 1
    return None


def _family(used: Any) -> int:
    """As the socket was made: a class of it may say another."""
    return int(sys.modules["_socket"].socket.family.__get__(used))


def _is_unix(family: int) -> bool:
    return family == getattr(sys.modules["_socket"], "AF_UNIX", None)


def _is_inet(family: int) -> bool:
    library = sys.modules["_socket"]  # it is there: the event is its own
    return family in (library.AF_INET, getattr(library, "AF_INET6", library.AF_INET))


def _is_plain(kind: int) -> bool:
    """Neither raw nor of packets of its own; above four bits Linux has its flags."""
    library = sys.modules["_socket"]
    return kind & 0xF in (library.SOCK_STREAM, library.SOCK_DGRAM)


def _opening() -> Opening | None:
    """The path that is open in this context. Where the gate was never imported, none is."""
    gate = sys.modules.get(_GATE)
    return gate.opening() if gate else None


def _openings() -> tuple[Opening, ...]:
    gate = sys.modules.get(_GATE)
    return gate.openings() if gate else ()


def _leads(opened: Opening, family: int, address: Any) -> bool:
    if not _is_inet(family) or not isinstance(address, tuple) or len(address) < 2:
        return False
    return opened.leads_to(address[0], address[1])


def _was_there() -> bool:
    """Whether a socket is taken over by its number: what it does next is judged.

    Without a number, a socket of no family is made as one of AF_INET.
    """
    frames = _librarys_frames()
    return bool(frames) and (
        frames[0].f_code.co_qualname == "socket.__init__"
        and frames[0].f_locals["fileno"] is not None
    )


def _of_a_pair() -> bool:
    """Whether the standard library's own socketpair is at work."""
    names = ("socketpair", "_fallback_socketpair")
    return any(frame.f_code.co_qualname in names for frame in _librarys_frames())


def _librarys_frames() -> list[FrameType]:
    """The calls of the standard library's own `socket` that led here, the innermost first."""
    from satchel_crypto.network.socket_library import is_own

    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    frames = []
    while frame is not None and is_own(frame):
        frames.append(frame)
        frame = frame.f_back
    return frames


def _shown(address: Any) -> str:
    if isinstance(address, tuple):
        address = ":".join(str(part) for part in address[:2])
    elif isinstance(address, bytes | bytearray):
        address = bytes(address).decode("ascii", "replace")
    return ascii(str(address)[:100])[1:-1] or "any address"


JUDGES: dict[str, Callable[[tuple[Any, ...]], str | None]] = {
    "socket.__new__": _made,
    "socket.connect": _connected,
    "socket.sendto": _connected,
    "socket.sendmsg": _connected,
    "socket.bind": _bound,
    "socket.getaddrinfo": _looked_up,
    "socket.gethostbyname": _looked_up,
    "socket.gethostbyaddr": _looked_up,
    "socket.getnameinfo": _looked_up,
    _PROBE: _probe,
}
"""Every event of a socket that could leave this machine or let somebody in."""

HARMLESS = frozenset(
    ("socket.gethostname", "socket.sethostname", "socket.getservbyname", "socket.getservbyport")
)
"""Events of the socket module that open nothing."""


def _hook(
    event: str,
    arguments: tuple[Any, ...],
    judge_of: Callable[[str], Callable[[tuple[Any, ...]], str | None] | None] = JUDGES.get,
) -> None:
    """Called for every audit event of the process: it has to be a look into a table."""
    judge = judge_of(event)
    if judge is not None:
        _judge(event, arguments, judge)


def _judge(
    event: str, arguments: tuple[Any, ...], judge: Callable[[tuple[Any, ...]], str | None]
) -> None:
    global _count
    try:
        refused = judge(arguments)
    except Exception as error:  # noqa: BLE001 (a check that breaks has refused)
        refused = f"a check that failed ({type(error).__name__})"
    if refused is None:
        return
    _count += 1
    if len(_kept) < KEPT_MAX:
        _kept.append(Refusal(event, refused))
    raise NetworkRefused(
        f"no network path leads there: {event.removeprefix('socket.')} of {refused} was refused",
        hint="sockets are opened inside `network.open(path, target, policy=…)` only: `satchel"
        " doctor` tells of each path whether it is open",
    ) from None
