"""A synced table, read once from the frozen dataclass of its row."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

Value = str | int | float | bytes | None
"""A column's value: text, int64, float64, blob or NULL."""

TAGS: dict[type, str] = {str: "t", int: "i", float: "r", bytes: "b"}
"""Python type -> type tag of the canonical bytes: text, int64, float64, blob."""

_TAG_OF = {f"{kind.__name__} | None": tag for kind, tag in TAGS.items()}
"""By the annotation as it is written: to evaluate it takes as long as to make the dataclass."""

VERSION_COLUMNS = ("life", "hlc", "origin", "digest", "lineage")
"""Columns that every table has behind its data: the version and what it builds on."""

EXTRA = "extra"
"""Column that keeps what a newer peer sent and this side has no column for."""


@dataclass(frozen=True, slots=True)
class Column:
    """One data column: its name and its type tag (`t` text, `i` int64, `r` float64, `b` blob)."""

    name: str
    tag: str


@dataclass(frozen=True)
class Table:
    """What travels of one row kind.

    `columns` are the data columns in declared order, without the key, the version and `extra`;
    all of them may be NULL, so that a tombstone is a key, a version and nothing else.
    """

    name: str
    key: str
    row: type
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the data columns, in the order of a `Row`'s values."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Every stored column: key, data, `extra`, version."""
        return (self.key, *self.names, EXTRA, *VERSION_COLUMNS)

    def column(self, name: str) -> Column | None:
        """The data column of that name, or None."""
        return next((column for column in self.columns if column.name == name), None)


def table(name: str, row: type, *, key: str = "id") -> Table:
    """Read a row's annotations into a `Table`. Raises TypeError for a type that cannot travel."""
    columns = tuple(
        Column(field.name, _tag(row, field.name, field.type))
        for field in fields(row)
        if field.name != key
    )
    return Table(name, key, row, columns)


def _tag(row: type, name: str, annotation: object) -> str:
    tag = _TAG_OF.get(str(annotation))
    if tag is None:
        known = ", ".join(_TAG_OF)
        raise TypeError(f"{row.__name__}.{name}: {annotation} must be one of: {known}")
    return tag
