"""Why a row cannot be sent to Postgres at all; asked only after a whole batch has failed."""

from __future__ import annotations

from satchel_sync.changes import Row
from satchel_sync.stamp import INT64_MAX
from satchel_sync.tables import Column, Table, Value

_TYPES: dict[str, type | tuple[type, ...]] = {"t": str, "i": int, "r": (float, int), "b": bytes}
_BEHIND = (
    Column("extra", "t"),
    Column("life", "i"),
    Column("hlc", "i"),
    Column("origin", "b"),
    Column("digest", "b"),
    Column("lineage", "t"),
)


def reason_unfit(table: Table, row: Row) -> str:
    """The column and what is wrong with its value; "" when the row can be sent."""
    if len(row.values) != len(table.columns) + 1:
        return f"{len(row.values)} values for {len(table.columns) + 1} columns"
    columns = (Column(table.key, "t"), *table.columns, *_BEHIND)
    values: tuple[Value, ...] = (row.key, *row.values, *row.stamp, row.lineage)
    for column, value in zip(columns, values, strict=True):
        reason = _reason(column.tag, value)
        if reason:
            return f"{column.name}: {reason}"
    return ""


def _reason(tag: str, value: Value) -> str:
    if value is None:
        return ""
    if not isinstance(value, _TYPES[tag]):
        return f"{type(value).__name__} where the tag is {tag!r}"
    if isinstance(value, str):
        return reason_unfit_text(value)
    if tag == "i" and not -INT64_MAX - 1 <= int(value) <= INT64_MAX:
        return "the number does not fit 64 bits"
    return ""


def reason_unfit_text(value: str) -> str:
    """What in a text Postgres cannot hold, and where; "" when it can."""
    if "\0" in value:
        return f"NUL at position {value.index(chr(0))}"
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return f"a lone surrogate at position {error.start}"
    return ""
