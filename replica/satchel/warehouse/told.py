"""What the warehouse answers, as the doors print it: times as ISO-8601."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from satchel.memory.moments import iso

_TIMES = ("first_seen", "last_seen", "revoked_at")


def status_told(status: Any) -> dict[str, Any]:
    """A `satchel_warehouse.admin.Status`."""
    found = asdict(status)
    return found | {"machines": [machine_told(one) for one in found["machines"]]}


def machine_told(found: dict[str, Any]) -> dict[str, Any]:
    """A `satchel_warehouse.machines.Machine`, as a dict."""
    return found | {name: iso(found[name]) for name in _TIMES if found[name] is not None}


def health_told(health: Any) -> dict[str, Any]:
    """A `satchel_warehouse.operations.health.Health`."""
    return dict(times_told(asdict(health)))


def times_told(value: Any) -> Any:
    """The same with every `at` and `…_at` (UTC ms) as ISO-8601, however deep."""
    if isinstance(value, dict):
        return {
            name: iso(one)
            if isinstance(one, int) and (name == "at" or name.endswith("_at"))
            else times_told(one)
            for name, one in value.items()
        }
    return [times_told(one) for one in value] if isinstance(value, list | tuple) else value
