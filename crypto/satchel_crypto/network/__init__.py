"""The gate of the network: every socket of the product is opened inside `open`, or not at all.

Start reading at `paths` (what there is), then `policy` (what the operator allows), `gate` (how a
path is opened) and `audit_hook` (why nothing gets around it). Every command puts the hook on and
few open a path, so what opens one is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from satchel_crypto.network.audit_hook import Refusal, enforce, enforced, refusals
from satchel_crypto.network.paths import PATHS, Direction, NetworkPath

if TYPE_CHECKING:
    from satchel_crypto.network.gate import current, open, require_open  # noqa: A004
    from satchel_crypto.network.policy import (
        Policy,
        Rule,
        check,
        is_reason,
        refusal,
        require_enabled,
    )
    from satchel_crypto.network.target import Target

_LATER = {
    "Policy": "policy",
    "Rule": "policy",
    "Target": "target",
    "check": "policy",
    "current": "gate",
    "is_reason": "policy",
    "open": "gate",
    "refusal": "policy",
    "require_enabled": "policy",
    "require_open": "gate",
}
"""Name -> its module."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "PATHS",
    "Direction",
    "NetworkPath",
    "Policy",
    "Refusal",
    "Rule",
    "Target",
    "check",
    "current",
    "enforce",
    "enforced",
    "is_reason",
    "open",
    "refusal",
    "refusals",
    "require_enabled",
    "require_open",
]
