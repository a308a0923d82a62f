"""Where a network path leads, and whether an address that a program names is that place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """A host name, address or socket folder, a port, and how TLS verifies it.

    `tls` is libpq's `sslmode` or, for HTTP, `verify-full` or empty; for a path that serves it is
    `serve` where a certificate is shown. Port 0 of a path that serves: any that is free.
    """

    host: str
    port: int
    tls: str = ""

    @property
    def local(self) -> bool:
        """Whether the target is this machine: a Unix socket, `localhost` or a loopback address."""
        return self.unix or self.host == "localhost" or is_loopback(self.host)

    @property
    def unix(self) -> bool:
        """Whether it is a Unix socket: to libpq no host is the one of its default folder."""
        return not self.host or self.host.startswith(("/", "@"))


def is_loopback(host: str) -> bool:
    """Whether `host` is a literal loopback address."""
    import ipaddress  # 1.3 ms, and no search asks

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(host: str) -> bool:
    """Whether `host` is an IP address and no name."""
    import ipaddress

    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def canonical(host: object) -> str:
    """A host as `socket` takes it, in one spelling; empty for what is none."""
    import ipaddress

    if isinstance(host, bytes | bytearray):
        host = bytes(host).decode("ascii", "replace")
    if not isinstance(host, str):
        return ""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.lower()


def addresses_of(target: Target) -> frozenset[str]:
    """The addresses that the target's name stands for now; none where it has none.

    `localhost` is this machine, whatever a hosts file says.
    """
    import _socket  # the C module: nothing that this process may have put in place of it

    host = canonical(target.host)
    try:
        found: list[Any] = _socket.getaddrinfo(host, target.port)
    except (OSError, UnicodeError):
        return frozenset()
    every = frozenset(canonical(one[4][0]) for one in found)
    return frozenset(one for one in every if is_loopback(one)) if target.local else every
