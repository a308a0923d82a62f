"""Network paths: every socket of the product is opened inside `open`, or not at all.

A path has a name and a rule. It opens only for a known name, an open mode, an enabled rule and a
target that is loopback, a local socket, or TLS that verifies the host; anything else, a failure in
the check included, is a refusal before the first packet.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from satchel_crypto.errors import NetworkRefused

PATHS: Mapping[str, str] = {
    "sync.postgres": "this replica and its warehouse",
    "warehouse.admin": "the warehouse's administration",
}
"""Every network path of the product and what it serves."""

_open_path: ContextVar[str | None] = ContextVar("satchel_network_path", default=None)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a path leads: a host name, address or socket folder, a port, and libpq's sslmode."""

    host: str
    port: int
    tls: str = ""

    @property
    def local(self) -> bool:
        """Whether the target is this machine: a Unix socket, `localhost` or a loopback address."""
        if self.host in ("", "localhost") or self.host.startswith(("/", "@")):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Rule:
    """What the operator said of one path; `attested` is a recorded reason for weaker TLS."""

    enabled: bool = True
    attested: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The network policy: `mode` none closes every path; a path without a rule is closed."""

    mode: Literal["open", "none"] = "open"
    rules: Mapping[str, Rule] = field(default_factory=dict)


def check(path: str, target: Target, policy: Policy) -> None:
    """Raise NetworkRefused unless `policy` lets `path` lead to `target`."""
    if path not in PATHS:
        raise NetworkRefused(f"network path {path!r} is unknown: it stays closed")
    if policy.mode != "open":
        raise NetworkRefused(
            f"network path {path!r} is closed: the network mode is {policy.mode!r}",
            hint='set [network] mode = "open" if this machine may use its network',
        )
    rule = policy.rules.get(path)
    if rule is None or not rule.enabled:
        raise NetworkRefused(
            f"network path {path!r} is not enabled",
            hint=f'enable it in the config: [network."{path}"] enabled = true',
        )
    if not target.local and target.tls != "verify-full" and not rule.attested:
        raise NetworkRefused(
            f"network path {path!r} to {target.host} would use sslmode={target.tls or 'default'}:"
            " a remote host must be verified",
            hint="use sslmode=verify-full, or attest the weaker one with a reason:"
            f' [network."{path}"] attested = "why"',
        )


@contextmanager
def open(path: str, target: Target, *, policy: Policy) -> Iterator[None]:  # noqa: A001
    """Open `path` to `target` for the body. Raises NetworkRefused; then no socket was opened."""
    check(path, target, policy)
    token = _open_path.set(path)
    try:
        yield
    finally:
        _open_path.reset(token)


def current() -> str | None:
    """The path that is open in this context, or None."""
    return _open_path.get()
