"""SQL snippets that more than one part of the store uses."""

from __future__ import annotations

from functools import cache

from satchel_sync.stamp import INT64_MAX
from satchel_sync.tables import EXTRA, Table

ALIVE = f"((({{t}}life >> 16) & 1) = 1 AND {{t}}life < {INT64_MAX})"
"""Whether a row is neither deleted nor scrubbed; `.format(t="")` or `.format(t="m.")`."""

HISTORY_KINDS = frozenset({"memory", "relationship", "task", "chatlog", "session", "space"})
"""Kinds whose old values are kept when they change."""

WALL_MS = (
    "coalesce((SELECT wall_ms FROM control),"
    " CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER))"
)
"""UTC milliseconds with nothing newer than SQLite 3.35; the engine may set `control.wall_ms`."""


def alive(alias: str = "") -> str:
    """`ALIVE` for a table alias ("" = the only table of the statement)."""
    return ALIVE.format(t=f"{alias}." if alias else "")


def version_hex(prefix: str) -> str:
    """The 80 hex digits of a row's stamp (`Stamp.hex`); only 64 while it has no digest."""
    return (
        f"printf('%016x%016x', {prefix}life, {prefix}hlc)"
        f" || lower(hex({prefix}origin) || hex({prefix}digest))"
    )


@cache
def row_columns(table: Table, alias: str = "") -> str:
    """The columns that `codec.row_of` reads, in its order."""
    prefix = f"{alias}." if alias else ""
    names = (table.key, "life", "hlc", "origin", "digest", "lineage", *table.names, EXTRA)
    return ", ".join(prefix + name for name in names)
