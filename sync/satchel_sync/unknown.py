"""Columns that one side does not know: kept in `extra`, folded into the column once there is one.

The canonical bytes of a row merge `extra` by name, so its version is the same either way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel_sync.digest import format_extra, parse_extra, value_bytes, value_of
from satchel_sync.tables.kinds import EXTRA, TAGS, Table, Value


def folded(table: Table, values: Sequence[Value]) -> tuple[Value, ...]:
    """`values` (as in `Row`) with each entry of `extra` in the column that this side has for it.

    What is no column here stays, and so does one of another type. An `extra` that is no list of
    columns, which only a write by hand can leave, is not touched.
    """
    *known, extra = values
    unknown = _parsed(extra)
    places = [
        (at, column.name)
        for at, column in enumerate(table.columns)
        if unknown.get(column.name, ("",))[0] == column.tag
    ]
    if not places:
        return tuple(values)
    try:
        for at, name in places:
            known[at] = value_of(*unknown.pop(name))
    except ValueError:
        return tuple(values)
    return (*known, format_extra(unknown))


def of_names(table: Table, found: Mapping[str, Value]) -> tuple[Value, ...]:
    """Values (as in `Row`) of {name: value}; a name that is no column here goes to `extra`.

    So a row that a program of another schema wrote down by name comes back whole. Text, integers
    and floats only: JSON has no blobs.
    """
    extra = found.get(EXTRA)
    known = (*(found.get(name) for name in table.names), extra)
    unknown = {
        name: (TAGS[type(value)], value_bytes(TAGS[type(value)], value))
        for name, value in found.items()
        if name not in (table.key, *table.names, EXTRA) and type(value) in TAGS
    }
    if unknown:
        known = (*known[:-1], format_extra(unknown | _parsed(extra)))
    return folded(table, known)


def _parsed(extra: Value) -> dict[str, tuple[str, bytes]]:
    """The columns in an `extra`; none where it is no list of columns."""
    try:
        return parse_extra(extra) if isinstance(extra, str) else {}
    except (ValueError, AttributeError):
        return {}
