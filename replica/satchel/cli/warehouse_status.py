"""`satchel warehouse status`: at a terminal what matters first, then tables; in a pipe all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from satchel.cli.door import Door
from satchel.cli.render import local_time

TABLES_MAX = 10
_MACHINE = ("host", "tenant", "login", "version", "last_seen", "rows", "revoked_at", "replica_id")
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def status(door: Door) -> None:
    """Its version, rows, machines, size, standbys and backups.

    Its sessions besides, and what is kept how long.
    """
    from satchel.warehouse import operations

    door.answer(operations.status(door.settings), shown=shown)


def shown(found: Mapping[str, Any]) -> Iterator[Any]:
    """The answer for people: facts, rows by kind, machines, the largest tables."""
    yield facts(found)
    yield {"kind": found["rows"]}
    machines = [{name: one[name] for name in _MACHINE} for one in found["machines"]]
    yield {"machines": [one | {"replica_id": one["replica_id"][-8:]} for one in machines]}
    sizes = list(found["table_bytes"].items())
    largest = [{"table": name, "size": size(count)} for name, count in sizes[:TABLES_MAX]]
    others = [count for _, count in sizes[TABLES_MAX:]]
    rest = [{"table": f"{len(others)} others", "size": size(sum(others))}] if others else []
    yield {"table": largest + rest}


def facts(found: Mapping[str, Any]) -> dict[str, str]:
    """What an operator wants to know first, in words."""
    days = {name.removesuffix("_days"): count for name, count in found["retention"].items()}
    told = {
        "version": f"revision {found['revision']}, protocol {found['protocol']}, schema"
        f" {found['schema']}, PostgreSQL {found['server']}",
        "hub": found["hub_id"],
        "size": size(found["size_bytes"]),
        "backup": _backup(found["backup"]),
        "archive": _archive(found["archive"]),
        "standbys": _standbys(found),
        "sessions": f"{sum(found['connections'].values())} of {found['connections_max']}",
        "oldest transaction": _transaction(found["oldest_transaction"]),
        "pruned": _act(found["retained"], "never"),
        "kept for": ", ".join(
            f"{name} {count} days" if count else f"{name} for ever" for name, count in days.items()
        ),
        "reports": _reports(found["freshness"]),
        "conflicts": f"{found['conflicts']:,}",
        "tenants": ", ".join(found["epochs"]),
    }
    return told | ({"restored": _act(found["restored"], "")} if found["restored"] else {})


def size(count: int) -> str:
    """Bytes for people, in powers of 1000."""
    number, unit = float(count), 0
    while number >= 999.95 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.1f} {_UNITS[unit]}" if unit else f"{count} B"


def _act(act: Mapping[str, Any] | None, without: str) -> str:
    return f"{local_time(act['at'])} by {act['who']}" if act else without


def _backup(act: Mapping[str, Any] | None) -> str:
    if not act:
        return "none known"
    reaches = act["detail"].get("reaches_at")
    until = f"reaches until {local_time(str(reaches))}, " if reaches else ""
    return f"{until}checked {_act(act, '')}"


def _archive(archive: Mapping[str, Any]) -> str:
    if not archive["on"]:
        return "off"
    last = local_time(archive["last_at"]) if archive["last_at"] else "nothing yet"
    failed = archive["failed"]
    at = f", {failed} failed, last {local_time(archive['last_failed_at'])}" if failed else ""
    return f"on, last {last}{at}"


def _standbys(found: Mapping[str, Any]) -> str:
    told = [
        f"{one['name']} {one['state']}"
        + ("" if one["lag_bytes"] is None else f", {size(one['lag_bytes'])} behind")
        for one in found["standbys"]
    ]
    if found["standby"]:
        told.insert(0, f"this is one; it shows what was {found['replayed_s_ago'] or 0:.0f} s ago")
    return "; ".join(told) or "none"


def _transaction(oldest: Mapping[str, Any] | None) -> str:
    return f"{oldest['login']}, {oldest['state']}, {oldest['age_s']:.0f} s" if oldest else "none"


def _reports(freshness: list[Mapping[str, Any]]) -> str:
    times = [one["refreshed_at"] for one in freshness if one["refreshed_at"]]
    return f"all refreshed since {local_time(min(times))}" if times else "never refreshed"
