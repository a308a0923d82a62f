"""What of a sync is told to whom: counts of rows are for who sees all rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satchel.memory.visibility import Caller

REPORT = ("ok", "exit", "lag_s", "clock_offset_ms", "digest", "identity")
STANDING = ("replica_id", "hub_id", "lag_s", "last_sync", "reconcile_due", "stuck")


def report(caller: Caller, whole: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a sync; to an agent, how it went."""
    return _of(caller, whole, REPORT)


def standing(caller: Caller, whole: Mapping[str, Any]) -> dict[str, Any]:
    """How the syncs stand; to an agent, whether this machine gets on."""
    return _of(caller, whole, STANDING)


def _of(caller: Caller, whole: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    if caller.sees_all:
        return dict(whole)
    return {key: whole[key] for key in keys if key in whole}
