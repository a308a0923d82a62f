"""What `satchel doctor` says of the network: of each path whether it is open, where to, or why not.

Nothing is opened and no name is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from satchel.errors import describe, is_typed
from satchel_crypto.errors import CryptoError
from satchel_crypto.network import PATHS, NetworkPath, Policy, Target, refusal

if TYPE_CHECKING:
    from satchel.config import Settings

_BY_COMMAND = {
    "warehouse.serve": ("`satchel warehouse serve-embedded --port`", Target("127.0.0.1", 5432)),
    "warehouse.metrics": (
        "`satchel warehouse metrics --listen`",
        Target("127.0.0.1", 9477),
    ),
    "fips.source": ("`satchel crypto fips build`", Target("crates.io", 443, "verify-full")),
}
"""Paths that a command opens -> which, and where to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStatus:
    """One path: whether it would open now, and what there is to say.

    A path that is closed though its target is named is `blocked`.
    """

    path: str
    state: Literal["open", "closed", "blocked"]
    why: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.path} {'open' if self.state == 'open' else 'closed'}: {self.why}"


def status(settings: Settings) -> list[PathStatus]:
    """Every path, in the order of the table."""
    policy = settings.network_policy()
    named = {
        "sync.postgres": ("warehouse.dsn", settings.warehouse_dsn),
        "warehouse.admin": ("warehouse.admin_dsn", settings.warehouse_admin_dsn),
        "warehouse.report": ("warehouse.report_dsn", settings.warehouse_report_dsn),
    }
    if settings.warehouse_admin_dsn and not settings.warehouse_report_dsn:
        named["warehouse.report"] = named["warehouse.admin"]
    return [
        _of_dsn(path, *named[path.name], policy) if path.name in named else _of_other(path, policy)
        for path in PATHS.values()
    ]


def _of_dsn(path: NetworkPath, setting: str, dsn: str | None, policy: Policy) -> PathStatus:
    if not dsn:
        return PathStatus(path=path.name, state="closed", why=f"no {setting} is named")
    from satchel.warehouse import dsns

    try:
        target = dsns.target_of(dsn)
    except Exception as error:
        if not is_typed(error):
            raise
        told = describe(error)
        why = f"{setting} leads nowhere: {told['message']}"
        return PathStatus(path=path.name, state="blocked", why=why, fix=told["hint"])
    closed = refusal(path.name, target, policy)
    if closed is None:
        return PathStatus(path=path.name, state="open", why=_place(target))
    return _blocked(path, closed, policy)


def _of_other(path: NetworkPath, policy: Policy) -> PathStatus:
    asked, target = _BY_COMMAND.get(path.name, ("", Target("127.0.0.1", 0)))
    closed = refusal(path.name, target, policy)
    if closed is not None:
        return PathStatus(path=path.name, state="closed", why=_reason(closed, policy))
    by = f"when {asked} asks for it" if asked else "enabled; its target is named where it is opened"
    return PathStatus(path=path.name, state="open", why=by)


def _blocked(path: NetworkPath, closed: CryptoError, policy: Policy) -> PathStatus:
    """In the air gap nothing is amiss: that is what was asked for."""
    state: Literal["closed", "blocked"] = "blocked" if policy.mode == "open" else "closed"
    why = _reason(closed, policy)
    return PathStatus(path=path.name, state=state, why=why, fix=closed.hint)


def _reason(closed: CryptoError, policy: Policy) -> str:
    if policy.mode == "none":
        return "the network mode is none"
    return "not enabled" if str(closed.field).endswith(".enabled") else str(closed)


def _place(target: Target) -> str:
    if not target.host or target.host.startswith(("/", "@")):
        return f"the socket in {target.host or 'its usual folder'}, on this machine"
    where = "this machine" if target.local else f"TLS {target.tls}"
    return f"{target.host}:{target.port}, {where}"
