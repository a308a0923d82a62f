"""Rows as the doors show them: every column, flags as booleans, and whether they hold now."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from satchel.memory.interval import Moment, holds
from satchel_sync.tables import Memory


def plain(row: Any) -> dict[str, Any]:
    """Any row as a dict of its columns."""
    return {one.name: getattr(row, one.name) for one in fields(row)}


def memory(row: Memory, now_ms: int) -> dict[str, Any]:
    """A memory with `kind`, `current` and booleans in place of 1 and NULL."""
    shown = plain(row)
    shown["pinned"], shown["local"] = bool(row.pinned), bool(row.local)
    return {"kind": "memory", **shown, "current": is_current(row, now_ms)}


def is_current(row: Memory, now_ms: int) -> bool:
    """Whether the memory is true and known now."""
    return holds(
        Moment(now=now_ms),
        recorded_at=row.recorded_at,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        valid_to_was=row.valid_to_was,
        retired_at=row.retired_at,
        expires_at=row.expires_at,
    )
